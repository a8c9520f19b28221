// The newest messages of the event stream. Every reader has its own position; one that falls behind
// the oldest message has been too slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tempo::web {

using Text = std::shared_ptr<const std::string>;

class Messages {
 public:
  static constexpr std::size_t kMaxMessages = 256;
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;

  // A server-sent event; `data` is one line.
  static Text format(std::string_view event, std::string_view data) {
    std::string text = "event: ";
    text.append(event).append("\ndata: ").append(data).append("\n\n");
    return std::make_shared<const std::string>(std::move(text));
  }
  void push(Text message) {
    bytes_ += message->size();
    messages_.push_back(std::move(message));
    ++next_;
    while (messages_.size() > kMaxMessages || (bytes_ > kMaxBytes && messages_.size() > 1)) {
      bytes_ -= messages_.front()->size();
      messages_.pop_front();
    }
  }
  std::uint64_t next() const { return next_; }  // position of the next message
  // Null: the message is no longer here. `position` is smaller than `next`.
  Text at(std::uint64_t position) const {
    const std::uint64_t back = next_ - position;
    return back > messages_.size() ? nullptr : messages_[messages_.size() - back];
  }

 private:
  std::deque<Text> messages_;
  std::uint64_t next_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tempo::web
