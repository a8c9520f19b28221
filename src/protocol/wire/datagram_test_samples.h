// Sample datagrams with a value in every field, for tests.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "protocol/wire/datagram.h"

namespace tempo::wire {

inline Header sample_header() {
  return {.cluster = ClusterId{0x0102030405060708},
          .sender = HostId{0x1112131415161718},
          .incarnation = Incarnation{0x21222324},
          .key = kNoKey,
          .number = 0x3132333435363738,
          .nonce = Nonce{0x4142434445464748},
          .challenge = 0x5152535455565758,
          .response = 0x6162636465666768};
}

inline Datagram sample_election() {
  Datagram datagram{.header = sample_header(),
                    .name = Name("earth"),
                    .view = 0x5152535455565758,
                    .body = ElectionBody{.kind = 13,
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
                                     .timescale_generation = 0x21222324,
                                     .root = HostId{0x3132333435363738},
                                     .hops = 2,
                                     .synchronized = true}};
  return datagram;
}

inline Datagram sample_sync() {
  return {.header = sample_header(),
          .name = {},
          .view = 0,
          .body = SyncBody{.kind = SyncBody::Kind::set_time,
                           .kernel_stamp = true,
                           .will_follow = true,
                           .exchange = 0x51525354,
                           .timescale_generation = 0x61626364,
                           .received_ns = 0x0102030405060708,
                           .sent_ns = -2,
                           .offset_ns = 0x1112131415161718,
                           .rate_ppt = -3,
                           .sigma_ns = 0x2122232425262728,
                           .bound_ns = 0x3132333435363738}};
}

// A PASS in which every list has its maximum length.
inline Datagram sample_lock() {
  Datagram datagram{.header = sample_header()};
  LockBody& body = datagram.body.emplace<LockBody>();
  body.kind = 4;
  body.why = 5;
  body.shared = true;
  body.held = true;
  body.name = LockName(std::string(kMaxLockName, 'n'));
  body.view = 0x01020304;
  body.boot = 0x05060708;
  body.k = 0x090a0b0c;
  body.to_boot = 0x0d0e0f10;
  body.to_k = 0x11121314;
  body.named = 0x15161718;
  body.ballot = {0x191a1b1c1d1e1f20, HostId{0x2122232425262728}};
  body.top = 0x292a2b2c2d2e2f30;
  body.length = Nanos{0x3132333435363738};
  body.nonce = 0x393a3b3c3d3e3f40;
  body.reserve = 0x4142434445464748;
  while (!body.waiting.full()) body.waiting.push_back({0x100 + body.waiting.size(), true});
  while (!body.ends.full()) body.ends.push_back({0x200 + body.ends.size(), HostId{7}});
  body.pass = {.target = HostId{0x494a4b4c4d4e4f50},
               .sub = 0x51525354,
               .left = Nanos{0x15161718191a1b1c},
               .ticket = 0x5d5e5f6061626364};
  while (!body.pass.standings.full())
    body.pass.standings.push_back({.member = HostId{0x300 + body.pass.standings.size()},
                                   .boot = 0x61626364,
                                   .k = 0x65666768,
                                   .waiting = body.waiting});
  return datagram;
}

// A group body with a name of maximum length.
inline Datagram sample_group() {
  Datagram datagram{.header = sample_header()};
  GroupBody& body = datagram.body.emplace<GroupBody>();
  body.kind = GroupBody::Kind::c;
  body.name = GroupName(std::string(kMaxGroupName, 'g'));
  body.leads = body.asks = body.over = true;
  body.criterion = 0x01;
  body.algorithm = 0x02;
  body.term = 0x0102030405060708;
  body.heir = HostId{0x1112131415161718};
  body.ago = Nanos{0x2122232425262728};
  body.capacity = 0x3132333435363738;
  body.step = 2;
  body.phase = 1;
  body.hops = 0x04;
  body.sender = HostId{0x4142434445464748};
  body.serial = 0x51525354;
  body.incarnation = 0x61626364;
  body.stamp_ns = 0x0172737475767778;
  body.delay = Nanos{0x0182838485868788};
  body.number = 0x01929394;
  body.first = {0x01a2a3a4a5a6a7a8, HostId{0x01b2b3b4b5b6b7b8}};
  body.second = {-2, HostId{0x01c2c3c4c5c6c7c8}};
  return datagram;
}

// A question with all fields and two views.
inline Datagram sample_membership() {
  Datagram datagram{.header = sample_header()};
  MembershipBody body{.kind = MembershipBody::Kind::ask,
                      .wish = 2,
                      .urgent = true,
                      .number = 0x01020304,
                      .answers = 0x05060708,
                      .self = 0x0102030405060708,
                      .ballot = {0x11, 0x12},
                      .promised = {0x13, 0x14},
                      .accepted_in = {0x15, 0x16},
                      .main_for = Nanos{0x17}};
  body.view = {.lineage = 0x21, .number = 0x22, .tie_breaker = 0x23, .timescale_generation = 0x24};
  for (const std::uint64_t member : {0x31ULL, 0x32ULL}) body.view.members.push_back(member);
  body.next = {.lineage = 0x21, .number = 0x23};  // dissolved
  datagram.body = body;
  return datagram;
}

// An announcement with texts of maximum length.
inline Datagram sample_announcement() {
  Datagram datagram{.header = sample_header(), .name = Name("earth")};
  datagram.body =
      AnnouncementBody{.stops = true,
                       .interval_ms = 0x01020304,
                       .uptime_s = 0x05060708,
                       .up_members = 0x090a0b0c,
                       .profile = Word(std::string(kMaxWord, 'p')),
                       .timers = 0x0d0e0f10,
                       .expect = 3,
                       .lease_ms = 0x11121314,
                       .longest_lease_ms = 0x15161718,
                       .status = Word(std::string(kMaxWord, 's')),
                       .offset_ns = -2,
                       .bound_ns = 1024,
                       .version = Text<kMaxVersionText>(std::string(kMaxVersionText, 'v')),
                       .mentioned = {.host = HostId{0x191a1b1c1d1e1f20},
                                     .name = Name(std::string(kMaxName, 'n')),
                                     .silent_s = 0x21222324,
                                     .stopped = true}};
  return datagram;
}

inline std::vector<std::byte> bytes_of(const Datagram& datagram) {
  std::array<std::byte, kMaxBytes> buffer{};
  const std::size_t size = write(datagram, buffer);
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size)};
}

}  // namespace tempo::wire
