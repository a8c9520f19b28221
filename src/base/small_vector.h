// A vector of trivially copyable items that stores up to `kInline` of them inline and allocates
// memory only for more.
//
// A simulation holds thousands of machines, and most of their collections have one or two items.
// Inline items share the cache lines of the machine, and a copy of the machine is one block.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace tempo {

template <class T, std::uint32_t kInline>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() {}  // NOLINT(modernize-use-equals-default): a const object needs it
  explicit SmallVector(std::size_t count) { resize(count); }
  SmallVector(const SmallVector& other) { assign(other); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  ~SmallVector() { release(); }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T* data() { return is_allocated() ? items_.block : inline_items(); }
  const T* data() const { return is_allocated() ? items_.block : inline_items(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t at) { return data()[at]; }
  const T& operator[](std::size_t at) const { return data()[at]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void push_back(T item) {  // by value: `item` may be an element of this vector
    if (size_ == capacity_) grow(size_ + 1);
    std::construct_at(data() + size_++, item);
  }
  void emplace_back() { push_back(T{}); }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(std::size_t count) {
    if (count > capacity_) grow(count);
    for (T* const items = data(); size_ < count; ++size_) std::construct_at(items + size_);
    size_ = static_cast<std::uint32_t>(count);
  }
  template <class Predicate>
  void erase_if(Predicate remove) {
    size_ = static_cast<std::uint32_t>(std::remove_if(begin(), end(), remove) - begin());
  }

 private:
  static constexpr std::size_t kMaxItems = std::size_t{1} << 31;

  bool is_allocated() const { return capacity_ > kInline; }
  T* inline_items() { return reinterpret_cast<T*>(items_.bytes.data()); }
  const T* inline_items() const { return reinterpret_cast<const T*>(items_.bytes.data()); }

  // Grows by at least half of the current capacity.
  void grow(std::size_t count) {
    CHECK(count < kMaxItems);
    const auto capacity = static_cast<std::uint32_t>(
        std::max<std::size_t>(count, capacity_ + std::size_t{capacity_} / 2));
    T* const block = std::allocator<T>{}.allocate(capacity);
    std::uninitialized_copy_n(data(), size_, block);
    release();
    items_.block = block;
    capacity_ = capacity;
  }
  void release() {
    if (is_allocated()) std::allocator<T>{}.deallocate(items_.block, capacity_);
  }
  void assign(const SmallVector& other) {
    if (other.size_ > capacity_) {
      size_ = 0;
      grow(other.size_);
    }
    std::uninitialized_copy_n(other.data(), other.size_, data());
    size_ = other.size_;
  }
  // Moves the items of `other` here; `other` is empty afterwards.
  void take(SmallVector& other) {
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, kInline);
    if (is_allocated())
      items_.block = other.items_.block;
    else
      std::uninitialized_copy_n(other.inline_items(), size_, inline_items());
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInline;  // in items; more than kInline: `items_.block` is allocated
  union Items {
    T* block;
    alignas(T) std::array<std::byte, std::max(kInline * sizeof(T), sizeof(T*))> bytes;
  };
  Items items_;
};

}  // namespace tempo
