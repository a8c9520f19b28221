// Machines with tempod, of which the first two also run tempo-vip (or keepalived) for one address,
// and a third one that observes; all in network namespaces.
//
// A fault concerns the holder: the machine that answers when it begins.
#pragma once

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "observer.h"
#include "program.h"
#include "support/site.h"

namespace tempo::testbed {

class VipSite {
 public:
  static constexpr const char* kIp = "/usr/bin/ip";
  static constexpr const char* kAddress = "10.99.0.200/24";
  static constexpr std::size_t kCandidates = 2;

  explicit VipSite(Nanos lease, std::string address = kAddress, std::string profile = "lan")
      : address_(std::move(address)),
        site_({.tempod = TEMPO_TEMPOD,
               .profile = std::move(profile),
               .arguments = {"--set", "locks.expect=3", "--set",
                             fmt::format("locks.lease-ms={}", lease / 1ms), "--set",
                             "groups.users=nobody"}}) {
    for (int i = 0; i < 3; ++i) site_.add();
  }
  ~VipSite() {
    observer_.reset();
    for (std::unique_ptr<Child>& vip : vips_)
      if (vip != nullptr) end(vip, SIGKILL);
  }

  Site& site() { return site_; }
  Host& host(std::size_t i) { return site_.host(i); }
  Child& vip(std::size_t i) { return *vips_[i]; }

  Words words(std::size_t i, const Words& more = {}) {
    Words all{"netns",    "exec",      host(i).space(), TEMPO_VIP,
              "--config", "/dev/null", "--set",         fmt::format("socket={}", host(i).socket()),
              "--user",   "nobody"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  void serve(std::size_t i, const Words& more = {}) {
    Words all = words(i, {address_, "--dev", "eth0", "--group", "web", "--min-stay", "100ms"});
    all.insert(all.end(), more.begin(), more.end());
    vips_[i] = std::make_unique<Child>(all, kIp);
  }
  void start(const Words& more = {}) {
    site_.start_all();
    for (std::size_t i = 0; i < kCandidates; ++i) serve(i, more);
    observe();
  }
  void observe() {
    std::vector<vip::Mac> machines;
    for (std::size_t i = 0; i < site_.size(); ++i) machines.push_back(mac(i));
    observer_ = std::make_unique<Observer>(
        Observer::Options{.space = host(2).space(),
                          .own = host(2).address(),
                          .address = *vip::AddressPrefix::parse(address_),
                          .machines = machines});
  }
  Observer& observer() { return *observer_; }

  // The machine that has answered within the last moments; -1: none.
  int holder() const {
    const auto recent = observer_->answers(Observer::Clock::now() - 100ms);
    return recent.empty() ? -1 : recent.back().machine;
  }
  bool held() {
    return site_.wait(20s, [&] { return holder() >= 0; });
  }
  bool held_by(int machine) {
    return site_.wait(20s, [&] { return holder() == machine; });
  }

  // Stops or continues every process of a machine: tempo-vip first, then tempod.
  void pause_all(int machine, bool on) {
    const auto number = static_cast<std::size_t>(machine);
    const int signal = on ? SIGSTOP : SIGCONT;
    for (const pid_t process : {vips_[number]->id(), host(number).parent(), host(number).worker()})
      if (process > 0) ::kill(process, signal);
  }
  static void end(std::unique_ptr<Child>& vip, int signal) {
    ::kill(vip->id(), SIGCONT);
    ::kill(vip->id(), signal);
    vip->wait();
    vip.reset();
  }
  std::unique_ptr<Child>& vip_place(int machine) {
    return vips_[static_cast<std::size_t>(machine)];
  }

  // A command in the namespace of a machine.
  Ended in(std::size_t i, const std::string& line) {
    Words all{"netns", "exec", host(i).space()};
    for (const std::string& word : words_of(line)) all.push_back(word);
    return Child(all, kIp).wait();
  }
  std::string vip_status(std::size_t i) {
    return Child({"netns", "exec", host(i).space(), TEMPO_VIP, "status"}, kIp).wait().out;
  }
  vip::Mac mac(std::size_t i) {
    const std::string text = in(i, "cat /sys/class/net/eth0/address").out;
    std::array<unsigned, 6> parts{};
    std::sscanf(text.c_str(), "%x:%x:%x:%x:%x:%x", &parts[0], &parts[1], &parts[2], &parts[3],
                &parts[4], &parts[5]);
    vip::Mac mac{};
    for (std::size_t k = 0; k < mac.size(); ++k) mac[k] = static_cast<std::byte>(parts[k]);
    return mac;
  }
  std::string vip_log(std::size_t i) {
    if (vips_[i] == nullptr) return "";
    const auto end = std::chrono::steady_clock::now() + 20ms;
    vips_[i]->read_until([&] { return std::chrono::steady_clock::now() >= end; });
    return vips_[i]->err();
  }
  // When which machine answered for the first time after another one.
  std::string times() const {
    std::string text;
    const auto all = observer_->answers();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i == 0 || all[i].machine != all[i - 1].machine || all[i].at - all[i - 1].at > 100ms)
        text += fmt::format(
            "{:.3f} s: host{}, after {:.0f} ms\n",
            std::chrono::duration<double>(all[i].at - all[0].at).count(), all[i].machine + 1,
            i == 0 ? 0 : std::chrono::duration<double>(all[i].at - all[i - 1].at).count() * 1000);
    return text;
  }
  std::string logs() {
    std::string all;
    for (std::size_t i = 0; i < kCandidates; ++i) {
      all += fmt::format("host{}: tempo-vip:\n{}tempod:\n{}", i + 1, vip_log(i), host(i).log());
    }
    return all;
  }

 private:
  std::string address_;
  Site site_;
  std::array<std::unique_ptr<Child>, kCandidates> vips_;
  std::unique_ptr<Observer> observer_;
};

}  // namespace tempo::testbed
