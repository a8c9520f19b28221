// A machine with tempod and tempo-ntp, a machine with clients and another member, because a machine
// that is alone serves no time, in three network namespaces.
//
// tempod has a software clock that is a quarter of a second ahead and 20 ppm fast, so that a client
// that got the time of the kernel by mistake would show it. The test process reads the time page of
// the server: it is on the same kernel, so the page says what the true network time is.
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/page_file.h"
#include "platform/address.h"
#include "platform/clocks/oscillator.h"
#include "program.h"
#include "services/ntp/packet.h"
#include "support/site.h"

namespace tempo::testbed {

// Runs `call` in the network namespace of that name, in a thread of its own.
template <class Call>
void in_space(const std::string& space, Call call) {
  std::thread([&] {
    const int there = ::open(("/run/netns/" + space).c_str(), O_RDONLY | O_CLOEXEC);
    if (::setns(there, CLONE_NEWNET) != 0) std::abort();
    ::close(there);
    call();
  }).join();
}

// The path of an installed program; empty: it is missing.
inline std::string installed(const std::string& name) {
  for (const char* const place : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"})
    if (::access((place + name).c_str(), X_OK) == 0) return place + name;
  return "";
}

class NtpSite {
 public:
  static constexpr const char* kServer6 = "fd00:99::1";

  NtpSite() : site_({.tempod = TEMPO_TEMPOD}) {
    site_.add({.offset = 250ms, .drift = 20e-6});
    site_.add();
    for (const std::size_t i : {0UL, 1UL})
      run({"ip", "-n", site_.host(i).space(), "address", "add",
           fmt::format("fd00:99::{}/64", i + 1), "dev", "eth0", "nodad"});
    site_.add();
    site_.host(0).start();
    site_.host(2).start();
  }
  ~NtpSite() {
    if (ntp_ == nullptr) return;
    ::kill(ntp_->id(), SIGTERM);
    ntp_->wait();
  }

  bool ready() {
    return site_.wait(30s, [&] {
      const auto page = open_page();
      return page && page::in_main_part(page->now().status);
    });
  }
  void serve(const std::vector<std::string>& more = {}) {
    ntp_ = std::make_unique<Child>(ntp_words(more), kIp);
    ntp_->read_until([&] { return ntp_->err().find("serving") != std::string::npos; });
  }
  // tempo-ntp beside tempod, with the keys `more`.
  Words ntp_words(const std::vector<std::string>& more) const {
    Words words{
        "netns",    "exec",       server().space(), TEMPO_NTP,
        "--config", "/dev/null",  "--set",          fmt::format("socket={}", server().socket()),
        "--set",    "user=nobody"};
    for (const std::string& key : more) {
      words.emplace_back("--set");
      words.push_back(key);
    }
    return words;
  }
  // A program in the namespace of the clients.
  Ended client(const std::string& program, const std::string& line) {
    Words words{"netns", "exec", client().space(), program};
    for (const std::string& word : words_of(line)) words.push_back(word);
    return Child(words, kIp).wait();
  }

  const Host& server() const { return const_cast<Site&>(site_).host(0); }
  const Host& client() const { return const_cast<Site&>(site_).host(1); }
  Child& ntp() { return *ntp_; }
  Result<page::Reader> open_page() const {
    return page::Reader::open(page::path_for(server().socket()));
  }
  std::string directory() const { return site_.directory(); }

  static constexpr const char* kIp = "/usr/bin/ip";

 private:
  Site site_;
  std::unique_ptr<Child> ntp_;
};

// A UDP socket, connected to an NTP server.
class NtpClient {
 public:
  NtpClient(const std::string& space, const std::string& address, std::uint16_t port = ntp::kPort) {
    in_space(space, [&] {
      const auto to = sys::Address::parse(address, port);
      socket_ = ::socket(to->family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
      if (::connect(socket_, to->raw(), to->size()) != 0) std::abort();
    });
  }
  ~NtpClient() { ::close(socket_); }
  NtpClient(const NtpClient&) = delete;
  NtpClient& operator=(const NtpClient&) = delete;

  std::optional<ntp::Packet> ask(const ntp::Packet& request, int wait_ms = 2000) {
    send(ntp::encode(request));
    const auto bytes = receive(wait_ms);
    return bytes.empty() ? std::nullopt : ntp::decode(bytes);
  }
  void send(std::span<const std::byte> bytes) const {
    if (::send(socket_, bytes.data(), bytes.size(), 0) < 0) std::abort();
  }
  // Empty: nothing arrived.
  std::vector<std::byte> receive(int wait_ms) const {
    pollfd end{.fd = socket_, .events = POLLIN, .revents = 0};
    std::vector<std::byte> bytes(2048);
    if (::poll(&end, 1, wait_ms) <= 0) return {};
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }

 private:
  int socket_ = -1;
};

}  // namespace tempo::testbed
