#include "lab/analysis/enclosure.h"

#include <algorithm>

#include "base/check.h"

namespace tempo::analysis {

Enclosure& Enclosure::operator+=(const Enclosure& other) {
  low_ += other.low_;
  high_ += other.high_;
  return *this;
}

Enclosure operator-(const Enclosure& left, const Enclosure& right) {
  return {left.low_ - right.high_, left.high_ - right.low_, left.bits_};
}

Enclosure operator*(const Enclosure& left, const Enclosure& right) {
  if (!left.low_.negative() && !right.low_.negative())
    return {(left.low_ * right.low_).shifted_down(left.bits_),
            (left.high_ * right.high_).shifted_up(left.bits_), left.bits_};
  const Whole corners[] = {left.low_ * right.low_, left.low_ * right.high_, left.high_ * right.low_,
                           left.high_ * right.high_};
  return {std::ranges::min(corners).shifted_down(left.bits_),
          std::ranges::max(corners).shifted_up(left.bits_), left.bits_};
}

Enclosure operator*(const Enclosure& left, const Whole& right) {
  CHECK(!right.negative());
  return {left.low_ * right, left.high_ * right, left.bits_};
}

Enclosure operator/(const Enclosure& left, const Enclosure& right) {
  CHECK(!left.low_.negative() && right.low_ > Whole{0});
  return {left.low_.shifted_left(left.bits_).divided_down(right.high_),
          left.high_.shifted_left(left.bits_).divided_up(right.low_), left.bits_};
}

Bounds Enclosure::bounds() const {
  const Whole unit = Whole{1}.shifted_left(bits_);
  return {{low_, unit}, {high_, unit}};
}

Enclosure EnclosureScale::whole(std::int64_t value) const {
  const Whole scaled = Whole{value}.shifted_left(bits_);
  return {scaled, scaled, bits_};
}

Enclosure EnclosureScale::fraction(const Whole& numerator, const Whole& denominator) const {
  CHECK(denominator > Whole{0});
  const Whole scaled = numerator.shifted_left(bits_);
  return {scaled.divided_down(denominator), scaled.divided_up(denominator), bits_};
}

}  // namespace tempo::analysis
