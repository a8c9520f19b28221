#include "services/vip/netlink.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <endian.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/check.h"

namespace tempo::vip {
namespace {

constexpr int kAnswerTimeoutMs = 1000;  // the kernel answers before send() returns
constexpr std::size_t kBuffer = std::size_t{32} * 1024;
constexpr int kMaxDatagrams = 256;  // of one answer

nlmsghdr header_at(std::span<const std::byte> bytes) {
  nlmsghdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

}  // namespace

void MessageBuilder::begin(std::uint16_t type, std::uint16_t flags,
                           std::span<const std::byte> head) {
  head_ = bytes_.size();
  const nlmsghdr header{.nlmsg_len = 0,
                        .nlmsg_type = type,
                        .nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags),
                        .nlmsg_seq = ++number_,
                        .nlmsg_pid = 0};
  const auto raw = std::as_bytes(std::span{&header, 1});
  bytes_.insert(bytes_.end(), raw.begin(), raw.end());
  bytes_.insert(bytes_.end(), head.begin(), head.end());
  pad();
  fix_length();
}

void MessageBuilder::add(std::uint16_t attribute, std::span<const std::byte> value) {
  const nlattr header{.nla_len = static_cast<std::uint16_t>(sizeof(nlattr) + value.size()),
                      .nla_type = attribute};
  const auto raw = std::as_bytes(std::span{&header, 1});
  bytes_.insert(bytes_.end(), raw.begin(), raw.end());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
  pad();
  fix_length();
}

void MessageBuilder::add_text(std::uint16_t attribute, std::string_view text) {
  std::vector<std::byte> raw(text.size() + 1);
  std::memcpy(raw.data(), text.data(), text.size());
  add(attribute, raw);
}

void MessageBuilder::add_be32(std::uint16_t attribute, std::uint32_t value) {
  add_value(attribute, htonl(value));
}

void MessageBuilder::add_be64(std::uint16_t attribute, std::uint64_t value) {
  add_value(attribute, htobe64(value));
}

void MessageBuilder::nest(std::uint16_t attribute, const std::function<void()>& inner) {
  const std::size_t place = bytes_.size();
  add(static_cast<std::uint16_t>(attribute | NLA_F_NESTED), {});
  inner();
  const auto length = static_cast<std::uint16_t>(bytes_.size() - place);
  CHECK(bytes_.size() - place <= 0xffff);
  std::memcpy(bytes_.data() + place, &length, sizeof length);
}

void MessageBuilder::request_answer() {
  nlmsghdr header = header_at(std::span{bytes_}.subspan(head_));
  header.nlmsg_flags |= NLM_F_ACK;
  answered_ = number_;
  std::memcpy(bytes_.data() + head_, &header, sizeof header);
}

void MessageBuilder::pad() { bytes_.resize((bytes_.size() + 3) / 4 * 4); }

void MessageBuilder::fix_length() {
  const auto length = static_cast<std::uint32_t>(bytes_.size() - head_);
  std::memcpy(bytes_.data() + head_, &length, sizeof length);
}

Result<NetlinkSocket> NetlinkSocket::open(int protocol, std::uint32_t groups) {
  TRY(socket, sys::plain_socket(AF_NETLINK, SOCK_RAW, protocol));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = groups;
  if (bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return sys::failure("bind a netlink socket");
  return NetlinkSocket(std::move(socket));
}

int NetlinkSocket::transmit(const MessageBuilder& messages) {
  // An answer that an earlier call did not wait for must not be taken for this one's.
  drain(kMaxDatagrams, [](const nlmsghdr&) {});
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const auto bytes = messages.bytes();
  const ssize_t sent = sendto(descriptor(), bytes.data(), bytes.size(), 0,
                              reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel);
  return sent < 0 ? errno : 0;
}

int NetlinkSocket::send(const MessageBuilder& messages) {
  int first_error = 0;
  bool answered = false;
  const std::uint32_t last = messages.answered();
  if (const int error = transmit(messages); error != 0) return error;
  for (int i = 0; i < kMaxDatagrams && !answered; ++i) {
    pollfd end{.fd = descriptor(), .events = POLLIN, .revents = 0};
    if (poll(&end, 1, kAnswerTimeoutMs) <= 0) return ETIMEDOUT;
    drain(1, [&](const nlmsghdr& message) {
      if (message.nlmsg_type != NLMSG_ERROR || message.nlmsg_len < NLMSG_LENGTH(sizeof(nlmsgerr)))
        return;
      nlmsgerr answer{};
      std::memcpy(&answer, reinterpret_cast<const char*>(&message) + NLMSG_HDRLEN, sizeof answer);
      if (answer.error != 0 && first_error == 0) first_error = -answer.error;
      answered = answered || answer.error != 0 || message.nlmsg_seq == last;
    });
  }
  return answered ? first_error : ETIMEDOUT;
}

int NetlinkSocket::list(const MessageBuilder& request,
                        const std::function<void(const nlmsghdr&)>& each) {
  if (const int error = transmit(request); error != 0) return error;
  bool done = false;
  int error = 0;
  for (int i = 0; i < kMaxDatagrams && !done; ++i) {
    pollfd end{.fd = descriptor(), .events = POLLIN, .revents = 0};
    if (poll(&end, 1, kAnswerTimeoutMs) <= 0) return ETIMEDOUT;
    drain(1, [&](const nlmsghdr& message) {
      if (message.nlmsg_type == NLMSG_DONE) {
        done = true;
      } else if (message.nlmsg_type == NLMSG_ERROR) {
        nlmsgerr answer{};
        std::memcpy(&answer, reinterpret_cast<const char*>(&message) + NLMSG_HDRLEN, sizeof answer);
        error = -answer.error;
        done = true;
      } else {
        each(message);
      }
    });
  }
  return done ? error : ETIMEDOUT;
}

void NetlinkSocket::drain(int most, const std::function<void(const nlmsghdr&)>& each) {
  alignas(nlmsghdr) std::array<char, kBuffer> buffer;
  for (int i = 0; i < most; ++i) {
    const ssize_t got = recv(descriptor(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got <= 0) return;
    auto left = static_cast<unsigned>(got);
    for (const auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data());
         NLMSG_OK(message, left); message = NLMSG_NEXT(message, left))
      each(*message);
  }
}

std::span<const std::byte> attributes_of(const nlmsghdr& message, std::size_t head) {
  const std::size_t skip = NLMSG_HDRLEN + NLMSG_ALIGN(head);
  if (message.nlmsg_len < skip) return {};
  return std::span{reinterpret_cast<const std::byte*>(&message), message.nlmsg_len}.subspan(skip);
}

void for_each_attribute(
    std::span<const std::byte> bytes,
    const std::function<void(std::uint16_t, std::span<const std::byte>)>& each) {
  while (bytes.size() >= sizeof(nlattr)) {
    nlattr header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.nla_len < sizeof header || header.nla_len > bytes.size()) return;
    each(static_cast<std::uint16_t>(header.nla_type & NLA_TYPE_MASK),
         bytes.subspan(sizeof header, header.nla_len - sizeof header));
    const std::size_t step = (static_cast<std::size_t>(header.nla_len) + 3) / 4 * 4;
    if (step >= bytes.size()) return;
    bytes = bytes.subspan(step);
  }
}

}  // namespace tempo::vip
