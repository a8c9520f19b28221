#include "lab/studies/daemon/wired_host.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "protocol/host/host_content.h"

namespace tempo::sim::daemon {
namespace {

using Buffer = std::array<std::byte, wire::kMaxBytes>;

constexpr std::uint8_t kNetwork = 0;

}  // namespace

WiredHost::WiredHost(std::unique_ptr<wire::Codec> codec, Host host)
    : codec_(std::move(codec)), host_(std::move(host)) {
  addresses_.fill(kNobody);
}

template <class Step>
void WiredHost::step(Turn<WiredHost>& turn, Step step) {
  step_part(turn, host_, step, [&](const Output<Host>& output) {
    if (pass_on(turn, output, [](const Host::Message& message) { return Message{message}; }))
      return;
    if (output.kind == OutputKind::persist)
      turn.out.persist(output.record);
    else
      turn.out.notify(output.notice);
  });
}

void WiredHost::start(Turn<WiredHost>& turn) {
  step(turn, [](Host& host, Turn<Host>& inner) { host.start(inner); });
}

void WiredHost::on_timer(Turn<WiredHost>& turn, TimerId timer) {
  step(turn, [timer](Host& host, Turn<Host>& inner) { host.on_timer(inner, timer); });
}

void WiredHost::command(Turn<WiredHost>& turn, const Command& command) {
  step(turn, [&](Host& host, Turn<Host>& inner) { host.command(inner, command); });
}

void WiredHost::receive(Turn<WiredHost>& turn, NodeId address, const Message& message) {
  const auto received = codec_->decode(turn.now, kNetwork, turn.now, std::get<Bytes>(message));
  Buffer buffer;
  send(turn, address, codec_->take_reply(turn.now, buffer), buffer.data());
  check_id(turn);
  if (!received) return;
  note_address(turn, *received, address);
  while (const auto released = codec_->take_released()) deliver(turn, *released);
  deliver(turn, *received);
}

// As in the daemon: at the first sign of another machine with its id the host neither leads nor
// votes.
void WiredHost::check_id(Turn<WiredHost>& turn) {
  if (!codec_->id_taken() || id_taken_) return;
  id_taken_ = true;
  command(turn, Host::Locks::Command{Host::Locks::Retire{}});
  command(turn, node::Node::Command{node::Node::ElectionCommand{
                    .network = kNetwork, .command = election::Command::stay_out}});
}

void WiredHost::deliver(Turn<WiredHost>& turn, const wire::Codec::Received& received) {
  const std::optional<Host::Message> message = host::message_of(*codec_, received);
  if (!message) return;
  ++heard_;
  step(turn, [&](Host& host, Turn<Host>& inner) { host.receive(inner, received.from, *message); });
}

// As in the daemon: the source of a broadcast proves nothing, and the host is asked there first.
void WiredHost::note_address(Turn<WiredHost>& turn, const wire::Codec::Received& received,
                             NodeId address) {
  if (received.from == kNobody) return;
  CHECK(index(received.from) < addresses_.size());
  NodeId& known = addresses_[index(received.from)];
  if (received.proved) {
    known = address;
  } else if (known != address) {
    Buffer buffer;
    send(turn, address, codec_->ask(turn.now, kNetwork, received.from, buffer), buffer.data());
  }
}

void WiredHost::send(Turn<WiredHost>& turn, NodeId address, std::size_t size,
                     const std::byte* bytes) {
  if (size > 0) turn.out.send(address, Bytes(bytes, bytes + size));
}

bool WiredHost::write(Instant now, NodeId& to, Message& message) {
  const auto* of_host = std::get_if<Host::Message>(&message);
  if (of_host == nullptr) return true;
  const wire::Codec::Content content = host::content_of(*of_host);
  Buffer buffer;
  std::size_t size = 0;
  if (to == kNobody) {
    size = codec_->encode(content, buffer);
  } else {
    const NodeId address = index(to) < addresses_.size() ? addresses_[index(to)] : kNobody;
    if (address == kNobody) return false;
    size = codec_->encode(now, to, content, buffer);
    to = address;
  }
  message = Bytes(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size));
  return true;
}

// A hello leaves at once: it depends on no record.
bool WiredHost::waits_for_record(const Output<WiredHost>& output) {
  if (output.kind == OutputKind::notice) return Host::waits_for_record(output.notice);
  const auto* of_host = std::get_if<Host::Message>(&output.message);
  return of_host != nullptr && Host::waits_for_record(*of_host);
}

static_assert(Machine<WiredHost>);

}  // namespace tempo::sim::daemon
