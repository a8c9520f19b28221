// Datagrams with something in every field, for the tests of their bytes.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "protocol/wire/datagram.h"

namespace tempo::wire {

inline Header sample_header() {
  return {.cluster = ClusterId{0x0102030405060708},
          .sender = HostId{0x1112131415161718},
          .incarnation = Incarnation{0x21222324},
          .key = kNoKey,
          .number = 0x3132333435363738,
          .instance = 0x41424344};
}

inline Datagram sample_election() {
  Datagram datagram{.header = sample_header(),
                    .name = Name("earth"),
                    .view = 0x5152535455565758,
                    .election = ElectionBody{.kind = 13,
                                             .not_set = true,
                                             .was_master = false,
                                             .reluctance = 7,
                                             .sequence = 0x6162636465666768,
                                             .answers = 0x7172737475767778,
                                             .round = 0x8182838485868788,
                                             .epoch_host = HostId{0x9192939495969798},
                                             .epoch_incarnation = Incarnation{0xa1a2a3a4},
                                             .subject = HostId{0xb1b2b3b4b5b6b7b8},
                                             .subject_incarnation = Incarnation{0xc1c2c3c4},
                                             .age = Nanos{0x0102030405060708}},
                    .time = TimeBody{.bound = Nanos{0x1112131415161718},
                                     .scale = 0x21222324,
                                     .root = HostId{0x3132333435363738},
                                     .hops = 2,
                                     .synchronized = true},
                    .sync = {}};
  return datagram;
}

inline Datagram sample_sync() {
  return {.header = sample_header(),
          .name = {},
          .view = 0,
          .election = {},
          .time = {},
          .sync = SyncBody{.kind = SyncBody::Kind::shift,
                           .kernel_stamp = true,
                           .will_follow = true,
                           .exchange = 0x51525354,
                           .scale = 0x61626364,
                           .received_ns = 0x0102030405060708,
                           .sent_ns = -2,
                           .offset_ns = 0x1112131415161718,
                           .rate_ppt = -3,
                           .sigma_ns = 0x2122232425262728,
                           .bound_ns = 0x3132333435363738}};
}

inline std::vector<std::byte> bytes_of(const Datagram& datagram) {
  std::array<std::byte, kMostBytes> buffer{};
  const std::size_t size = write(datagram, buffer);
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size)};
}

}  // namespace tempo::wire
