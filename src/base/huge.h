// Memory for large tables that are read here and there.
//
// A page of the usual 4 KiB needs an entry of its own in the processor's address cache, and a table
// of many megabytes has more pages than entries; so large blocks ask the kernel for huge pages. It
// is a wish, not a need: where there are none, nothing changes but the speed.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace tempo {

template <class T>
struct HugeAllocator {
  using value_type = T;

  HugeAllocator() = default;
  template <class U>
  explicit(false) HugeAllocator(const HugeAllocator<U>& /*other*/) {}

  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T) / 2) throw std::bad_alloc();
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kLarge) return static_cast<T*>(::operator new(bytes));
    const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* block = std::aligned_alloc(kHugePage, whole);
    if (block == nullptr) throw std::bad_alloc();
    madvise(block, whole, MADV_HUGEPAGE);
    return static_cast<T*>(block);
  }
  void deallocate(T* block, std::size_t count) {
    if (count * sizeof(T) < kLarge)
      ::operator delete(block);
    else
      std::free(block);
  }

  bool operator==(const HugeAllocator&) const = default;

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  static constexpr std::size_t kLarge = 2 * kHugePage;
};

template <class T>
using HugeVector = std::vector<T, HugeAllocator<T>>;

}  // namespace tempo
