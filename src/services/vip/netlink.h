// Netlink messages: built in memory, sent as one batch, confirmed by the kernel.
//
// MessageBuilder writes headers and nested attributes. NetlinkSocket sends what it built and waits
// for the kernel's answer, which the kernel has queued by the time the send returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "platform/descriptor.h"

struct nlmsghdr;

namespace tempo::vip {

class MessageBuilder {
 public:
  // Starts a message; `head` is its fixed part. The messages are numbered in their order.
  void begin(std::uint16_t type, std::uint16_t flags, std::span<const std::byte> head);
  template <class Head>
  void begin(std::uint16_t type, std::uint16_t flags, const Head& head) {
    begin(type, flags, std::as_bytes(std::span{&head, 1}));
  }

  void add(std::uint16_t attribute, std::span<const std::byte> value);
  void add_text(std::uint16_t attribute, std::string_view text);  // with its terminating 0
  void add_be32(std::uint16_t attribute, std::uint32_t value);
  void add_be64(std::uint16_t attribute, std::uint64_t value);
  template <class Value>
  void add_value(std::uint16_t attribute, const Value& value) {
    add(attribute, std::as_bytes(std::span{&value, 1}));
  }
  // Attributes that `inner` adds become the content of this one.
  void nest(std::uint16_t attribute, const std::function<void()>& inner);

  void request_answer();  // of the last message
  bool empty() const { return bytes_.empty(); }
  std::uint32_t answered() const { return answered_; }  // number of the message with an answer
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void pad();
  void fix_length();

  std::vector<std::byte> bytes_;
  std::size_t head_ = 0;  // place of the last message
  std::uint32_t number_ = 0;
  std::uint32_t answered_ = 0;
};

class NetlinkSocket {
 public:
  static Result<NetlinkSocket> open(int protocol, std::uint32_t groups = 0);

  int descriptor() const { return socket_.number(); }
  // Sends the messages and returns the first error of the kernel, as an errno; 0: all is done. One
  // message must request an answer, the last that can fail.
  int send(const MessageBuilder& messages);
  // Sends one request for a list and calls `each` with every message of it.
  int list(const MessageBuilder& request, const std::function<void(const nlmsghdr&)>& each);
  // Calls `each` with every message that has arrived; at most `most` datagrams.
  void drain(int most, const std::function<void(const nlmsghdr&)>& each);

 private:
  explicit NetlinkSocket(sys::Descriptor socket) : socket_(std::move(socket)) {}
  int transmit(const MessageBuilder& messages);

  sys::Descriptor socket_;
};

// The attributes of a message, behind a fixed part of `head` bytes.
std::span<const std::byte> attributes_of(const nlmsghdr& message, std::size_t head);
// The attributes from `bytes`: calls `each` with type (without flags) and content.
void for_each_attribute(std::span<const std::byte> bytes,
                        const std::function<void(std::uint16_t, std::span<const std::byte>)>& each);

}  // namespace tempo::vip
