// A vector with a fixed capacity, stored inline. Messages can contain it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace tempo {

template <class T, std::size_t kCapacity>
class InlineVector {
  static_assert(kCapacity > 0 && kCapacity < 256);

 public:
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == kCapacity; }
  std::size_t size() const { return size_; }
  T* begin() { return items_.data(); }
  T* end() { return items_.data() + size_; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }
  T& front() { return items_[0]; }
  const T& front() const { return items_[0]; }

  friend bool operator==(const InlineVector& one, const InlineVector& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
  }

  void clear() { size_ = 0; }
  void push_back(const T& item) {
    CHECK(!full());
    items_[size_++] = item;
  }
  // Appends an item; a full vector drops its first item.
  void push_newest(const T& item) {
    if (full()) erase(begin());
    push_back(item);
  }
  void erase(T* item) {
    std::move(item + 1, end(), item);
    --size_;
  }
  template <class Predicate>
  void erase_if(Predicate remove) {
    size_ = static_cast<std::uint8_t>(std::remove_if(begin(), end(), remove) - begin());
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto& [items, size] = self;
    visit("size", size);
    for (std::size_t i = 0; i < std::min<std::size_t>(size, kCapacity); ++i)
      visit("item", items[i]);
  }

 private:
  std::array<T, kCapacity> items_{};
  std::uint8_t size_ = 0;
};

}  // namespace tempo
