// A function object made of several: `std::visit(Overloaded{[](A) {...}, [](B) {...}}, variant)`.
#pragma once

namespace tempo {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace tempo
