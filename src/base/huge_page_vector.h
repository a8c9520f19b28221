// Memory for large tables that grow and are accessed at random.
//
// Each 4 KiB page needs its own TLB entry, and a table of many megabytes has more pages than the
// TLB has entries. Large tables therefore ask the kernel for huge pages. This is only a hint:
// without huge pages the table works the same, only slower.
//
// A growing table is remapped (mremap), not copied: its items are neither read nor cleared again,
// and unused capacity takes no memory until it is written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include <sys/mman.h>

namespace tempo {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

template <class T>
class HugePageVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  HugePageVector() = default;
  // `count` items of zero bytes.
  explicit HugePageVector(std::size_t count) { resize(count); }
  HugePageVector(HugePageVector&& other) noexcept { swap(other); }
  HugePageVector& operator=(HugePageVector&& other) noexcept {
    swap(other);
    return *this;
  }
  HugePageVector(const HugePageVector&) = delete;
  HugePageVector& operator=(const HugePageVector&) = delete;
  ~HugePageVector() {
    if (items_ != nullptr) munmap(items_, mapped_);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t at) { return items_[at]; }
  const T& operator[](std::size_t at) const { return items_[at]; }

  void push_back(const T& item) { append(&item, 1); }
  void append(const T* from, std::size_t count) {
    reserve(size_ + count);
    std::memcpy(static_cast<void*>(items_ + size_), from, count * sizeof(T));
    size_ += count;
  }

  // Memory in use, in bytes: the pages that hold items.
  std::size_t bytes() const {
    const std::size_t page = mapped_ < kLarge ? kPage : kHugePage;
    return rounded_up(size_ * sizeof(T), page);
  }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kLarge = 2 * kHugePage;

  static std::size_t rounded_up(std::size_t bytes, std::size_t page) {
    return (bytes + page - 1) / page * page;
  }
  static void* checked(void* block) {
    if (block == MAP_FAILED) throw std::bad_alloc();
    return block;
  }

  void resize(std::size_t count) {
    reserve(count);
    size_ = count;
  }
  void swap(HugePageVector& other) noexcept {
    std::swap(items_, other.items_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
  }

  // Grows by at least half of the current mapping.
  void reserve(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T) / 4) throw std::bad_alloc();
    if (count * sizeof(T) <= mapped_) return;
    const std::size_t bytes = std::max(count * sizeof(T), mapped_ + mapped_ / 2);
    if (bytes < kLarge)
      map_small(rounded_up(bytes, kPage));
    else
      map_large(rounded_up(bytes, kHugePage));
  }
  void map_small(std::size_t bytes) {
    void* const block = items_ == nullptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                          : mremap(items_, mapped_, bytes, MREMAP_MAYMOVE);
    items_ = static_cast<T*>(checked(block));
    mapped_ = bytes;
  }
  // Maps the block at an address that is aligned to a huge page.
  void map_large(std::size_t bytes) {
    const std::size_t reserved = bytes + kHugePage;
    char* const range = static_cast<char*>(checked(
        mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)));
    const std::size_t before =
        (kHugePage - reinterpret_cast<std::uintptr_t>(range) % kHugePage) % kHugePage;
    char* const aligned = range + before;
    void* const block =
        items_ == nullptr ? mmap(aligned, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
                          : mremap(items_, mapped_, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, aligned);
    if (before != 0) munmap(range, before);
    munmap(aligned + bytes, reserved - before - bytes);
    items_ = static_cast<T*>(checked(block));
    mapped_ = bytes;
    madvise(items_, bytes, MADV_HUGEPAGE);
  }

  T* items_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;  // bytes
};

// Huge pages for a std::vector that is allocated once in its full size.
template <class T>
struct HugePageAllocator {
  using value_type = T;

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    void* const block = ::operator new(bytes, std::align_val_t{alignment(bytes)});
    if (bytes >= kHugePage) madvise(block, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
    return static_cast<T*>(block);
  }
  void deallocate(T* block, std::size_t count) {
    ::operator delete(block, std::align_val_t{alignment(count * sizeof(T))});
  }
  bool operator==(const HugePageAllocator&) const = default;

 private:
  static std::size_t alignment(std::size_t bytes) {
    return bytes >= kHugePage ? kHugePage : alignof(T);
  }
};

}  // namespace tempo
