// Exact integers and fractions of any size.
//
// A thin wrapper around GMP, which only exact.cpp includes. Fractions are always in lowest terms
// with a positive denominator. The caller must not divide by zero.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tempo::analysis {

class Whole {
 public:
  Whole(std::int64_t value = 0);  // NOLINT: a number is a number
  Whole(const Whole& other);
  Whole(Whole&& other) noexcept;
  Whole& operator=(const Whole& other);
  Whole& operator=(Whole&& other) noexcept;
  ~Whole();

  static Whole power(const Whole& base, std::uint64_t exponent);
  static Whole binomial(const Whole& n, std::uint64_t k);  // 0 where k > n >= 0

  Whole& operator+=(const Whole& other);
  Whole& operator-=(const Whole& other);
  Whole& operator*=(const Whole& other);
  friend Whole operator+(Whole left, const Whole& right) { return left += right; }
  friend Whole operator-(Whole left, const Whole& right) { return left -= right; }
  friend Whole operator*(Whole left, const Whole& right) { return left *= right; }
  Whole& add_product(const Whole& left, const Whole& right);
  Whole& subtract_product(const Whole& left, const Whole& right);

  Whole divided_exactly(const Whole& by) const;  // the remainder must be 0
  Whole divided_down(const Whole& by) const;     // rounds towards minus infinity
  Whole divided_up(const Whole& by) const;       // rounds towards plus infinity
  Whole shifted_left(std::uint64_t bits) const;
  Whole shifted_down(std::uint64_t bits) const;  // divided_down by 2^bits
  Whole shifted_up(std::uint64_t bits) const;    // divided_up by 2^bits

  std::strong_ordering operator<=>(const Whole& other) const;
  bool operator==(const Whole& other) const;

  bool negative() const { return *this < Whole{0}; }
  bool zero() const { return *this == Whole{0}; }
  std::size_t bits() const;    // of the absolute value; 1 for 0
  std::size_t digits() const;  // decimal digits of the absolute value; 1 for 0
  std::string text() const;

 private:
  friend class Fraction;
  struct Inside;
  Inside& inside();
  const Inside& inside() const;

  alignas(8) std::array<std::byte, 16> storage_;
};

class Fraction {
 public:
  Fraction(std::int64_t value = 0);  // NOLINT: a number is a number
  Fraction(const Whole& value);      // NOLINT
  Fraction(const Whole& numerator, const Whole& denominator);
  Fraction(const Fraction& other);
  Fraction(Fraction&& other) noexcept;
  Fraction& operator=(const Fraction& other);
  Fraction& operator=(Fraction&& other) noexcept;
  ~Fraction();

  // "3", "1/100" or "0.01", without a sign; at most 1,000 characters.
  static Result<Fraction> parse(std::string_view text);
  static Fraction power(const Fraction& base, std::uint64_t exponent);

  Fraction& operator+=(const Fraction& other);
  Fraction& operator-=(const Fraction& other);
  Fraction& operator*=(const Fraction& other);
  Fraction& operator/=(const Fraction& other);
  friend Fraction operator+(Fraction left, const Fraction& right) { return left += right; }
  friend Fraction operator-(Fraction left, const Fraction& right) { return left -= right; }
  friend Fraction operator*(Fraction left, const Fraction& right) { return left *= right; }
  friend Fraction operator/(Fraction left, const Fraction& right) { return left /= right; }

  std::strong_ordering operator<=>(const Fraction& other) const;
  bool operator==(const Fraction& other) const;

  Whole numerator() const;
  Whole denominator() const;
  bool zero() const { return *this == Fraction{0}; }
  double nearest() const;      // an adjacent double
  std::string text() const;    // "3" or "22/9"
  std::size_t digits() const;  // of the longer of numerator and denominator

 private:
  struct Inside;
  Inside& inside();
  const Inside& inside() const;

  alignas(8) std::array<std::byte, 32> storage_;
};

}  // namespace tempo::analysis
