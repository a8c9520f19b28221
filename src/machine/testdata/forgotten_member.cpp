// Does not compile: `forgotten_` is not in the list, although it occupies a byte of padding only.
#include "machine/fields.h"

namespace tempo {

class Forgetful {
 public:
  static constexpr auto fields(auto list) {
    return list(field<&Forgetful::listed_>("listed"), fixed<&Forgetful::rules_>());
  }
  friend FieldCheck;

 private:
  const int* rules_ = nullptr;
  std::uint16_t listed_ = 0;
  bool forgotten_ = false;
};

std::string bytes(const Forgetful& value) { return packed(value, Instant{}); }

}  // namespace tempo
