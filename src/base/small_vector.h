// A vector whose first few items lie inside the value that has it: no memory elsewhere while they
// suffice. For items that can be copied byte by byte.
//
// Thousands of machines live side by side in a simulation, and most of what each keeps is one or
// two of a thing: inside, that comes from memory together with the rest of the machine, and a copy
// of the machine is one block.
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

template <class T, std::uint32_t kInside>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() {}  // NOLINT(modernize-use-equals-default): or no constant could be made of it
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
  T* data() { return outside() ? items_.block : inside(); }
  const T* data() const { return outside() ? items_.block : inside(); }
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

  void push_back(T item) {  // by value: it may be one of our own
    if (size_ == room_) make_room(size_ + 1);
    std::construct_at(data() + size_++, item);
  }
  void emplace_back() { push_back(T{}); }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(std::size_t count) {
    if (count > room_) make_room(count);
    for (T* const items = data(); size_ < count; ++size_) std::construct_at(items + size_);
    size_ = static_cast<std::uint32_t>(count);
  }
  template <class Predicate>
  void erase_if(Predicate gone) {
    size_ = static_cast<std::uint32_t>(std::remove_if(begin(), end(), gone) - begin());
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 31;

  bool outside() const { return room_ > kInside; }
  T* inside() { return reinterpret_cast<T*>(items_.bytes.data()); }
  const T* inside() const { return reinterpret_cast<const T*>(items_.bytes.data()); }

  // By half as much again at least.
  void make_room(std::size_t count) {
    CHECK(count < kMost);
    const auto room =
        static_cast<std::uint32_t>(std::max<std::size_t>(count, room_ + std::size_t{room_} / 2));
    T* const block = std::allocator<T>{}.allocate(room);
    std::uninitialized_copy_n(data(), size_, block);
    release();
    items_.block = block;
    room_ = room;
  }
  void release() {
    if (outside()) std::allocator<T>{}.deallocate(items_.block, room_);
  }
  void assign(const SmallVector& other) {
    if (other.size_ > room_) {
      size_ = 0;
      make_room(other.size_);
    }
    std::uninitialized_copy_n(other.data(), other.size_, data());
    size_ = other.size_;
  }
  // What the other has; it is empty afterwards.
  void take(SmallVector& other) {
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, kInside);
    if (outside())
      items_.block = other.items_.block;
    else
      std::uninitialized_copy_n(other.inside(), size_, inside());
  }

  std::uint32_t size_ = 0;
  std::uint32_t room_ = kInside;  // more than kInside: in a block
  union Items {
    T* block;
    alignas(T) std::array<std::byte, std::max(kInside * sizeof(T), sizeof(T*))> bytes;
  };
  Items items_;
};

}  // namespace tempo
