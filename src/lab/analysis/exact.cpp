#include "lab/analysis/exact.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include <fmt/core.h>
#include <gmpxx.h>

#include "base/check.h"

namespace tempo::analysis {

// GMP's values are stored inside Whole and Fraction: a table of half a million of them is one
// block.
struct Whole::Inside {
  mpz_class value;
};
struct Fraction::Inside {
  mpq_class value;
};

namespace {
static_assert(sizeof(std::int64_t) == sizeof(long));
constexpr std::size_t kLongestNumber = 1'000;  // longest accepted text, in characters
}  // namespace

Whole::Inside& Whole::inside() {
  static_assert(sizeof(Inside) == sizeof storage_ && alignof(Inside) <= 8);
  return *std::launder(reinterpret_cast<Inside*>(storage_.data()));
}
const Whole::Inside& Whole::inside() const {
  return *std::launder(reinterpret_cast<const Inside*>(storage_.data()));
}

Whole::Whole(std::int64_t value) { new (storage_.data()) Inside{mpz_class(long{value})}; }
Whole::Whole(const Whole& other) { new (storage_.data()) Inside{other.inside().value}; }
Whole::Whole(Whole&& other) noexcept {
  new (storage_.data()) Inside{std::move(other.inside().value)};
}
Whole& Whole::operator=(const Whole& other) {
  inside().value = other.inside().value;
  return *this;
}
Whole& Whole::operator=(Whole&& other) noexcept {
  inside().value.swap(other.inside().value);
  return *this;
}
Whole::~Whole() { std::destroy_at(&inside()); }

Whole Whole::power(const Whole& base, std::uint64_t exponent) {
  Whole result;
  mpz_pow_ui(result.inside().value.get_mpz_t(), base.inside().value.get_mpz_t(), exponent);
  return result;
}
Whole Whole::binomial(const Whole& n, std::uint64_t k) {
  CHECK(!n.negative());
  Whole result;
  mpz_bin_ui(result.inside().value.get_mpz_t(), n.inside().value.get_mpz_t(), k);
  return result;
}

Whole& Whole::operator+=(const Whole& other) {
  inside().value += other.inside().value;
  return *this;
}
Whole& Whole::operator-=(const Whole& other) {
  inside().value -= other.inside().value;
  return *this;
}
Whole& Whole::operator*=(const Whole& other) {
  inside().value *= other.inside().value;
  return *this;
}
Whole& Whole::add_product(const Whole& left, const Whole& right) {
  mpz_addmul(inside().value.get_mpz_t(), left.inside().value.get_mpz_t(),
             right.inside().value.get_mpz_t());
  return *this;
}
Whole& Whole::subtract_product(const Whole& left, const Whole& right) {
  mpz_submul(inside().value.get_mpz_t(), left.inside().value.get_mpz_t(),
             right.inside().value.get_mpz_t());
  return *this;
}

Whole Whole::divided_exactly(const Whole& by) const {
  CHECK(!by.zero());
  CHECK(mpz_divisible_p(inside().value.get_mpz_t(), by.inside().value.get_mpz_t()) != 0);
  Whole result;
  mpz_divexact(result.inside().value.get_mpz_t(), inside().value.get_mpz_t(),
               by.inside().value.get_mpz_t());
  return result;
}
Whole Whole::divided_down(const Whole& by) const {
  CHECK(!by.zero());
  Whole result;
  mpz_fdiv_q(result.inside().value.get_mpz_t(), inside().value.get_mpz_t(),
             by.inside().value.get_mpz_t());
  return result;
}
Whole Whole::divided_up(const Whole& by) const {
  CHECK(!by.zero());
  Whole result;
  mpz_cdiv_q(result.inside().value.get_mpz_t(), inside().value.get_mpz_t(),
             by.inside().value.get_mpz_t());
  return result;
}
Whole Whole::shifted_left(std::uint64_t bits) const {
  Whole result;
  mpz_mul_2exp(result.inside().value.get_mpz_t(), inside().value.get_mpz_t(), bits);
  return result;
}
Whole Whole::shifted_down(std::uint64_t bits) const {
  Whole result;
  mpz_fdiv_q_2exp(result.inside().value.get_mpz_t(), inside().value.get_mpz_t(), bits);
  return result;
}
Whole Whole::shifted_up(std::uint64_t bits) const {
  Whole result;
  mpz_cdiv_q_2exp(result.inside().value.get_mpz_t(), inside().value.get_mpz_t(), bits);
  return result;
}

std::strong_ordering Whole::operator<=>(const Whole& other) const {
  return cmp(inside().value, other.inside().value) <=> 0;
}
bool Whole::operator==(const Whole& other) const { return inside().value == other.inside().value; }

std::size_t Whole::bits() const { return mpz_sizeinbase(inside().value.get_mpz_t(), 2); }
std::size_t Whole::digits() const { return text().size() - (negative() ? 1 : 0); }
std::string Whole::text() const { return inside().value.get_str(); }

Fraction::Inside& Fraction::inside() {
  static_assert(sizeof(Inside) == sizeof storage_ && alignof(Inside) <= 8);
  return *std::launder(reinterpret_cast<Inside*>(storage_.data()));
}
const Fraction::Inside& Fraction::inside() const {
  return *std::launder(reinterpret_cast<const Inside*>(storage_.data()));
}

Fraction::Fraction(std::int64_t value) { new (storage_.data()) Inside{mpq_class(long{value})}; }
Fraction::Fraction(const Whole& value) {
  new (storage_.data()) Inside{mpq_class(value.inside().value)};
}
Fraction::Fraction(const Whole& numerator, const Whole& denominator) {
  CHECK(!denominator.zero());
  new (storage_.data()) Inside{mpq_class(numerator.inside().value, denominator.inside().value)};
  inside().value.canonicalize();
}
Fraction::Fraction(const Fraction& other) { new (storage_.data()) Inside{other.inside().value}; }
Fraction::Fraction(Fraction&& other) noexcept {
  new (storage_.data()) Inside{std::move(other.inside().value)};
}
Fraction& Fraction::operator=(const Fraction& other) {
  inside().value = other.inside().value;
  return *this;
}
Fraction& Fraction::operator=(Fraction&& other) noexcept {
  inside().value.swap(other.inside().value);
  return *this;
}
Fraction::~Fraction() { std::destroy_at(&inside()); }

Result<Fraction> Fraction::parse(std::string_view text) {
  const auto refuse = [&] {
    return std::unexpected(
        fmt::format("'{}' is not a number; write 3, 0.01 or 1/100", text.substr(0, 60)));
  };
  if (text.empty() || text.size() > kLongestNumber) return refuse();
  const std::size_t cut = text.find_first_of("./");
  const std::string first{text.substr(0, cut)};
  const std::string second{cut == std::string_view::npos ? "" : text.substr(cut + 1)};
  const auto digits_only = [](const std::string& part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!digits_only(first)) return refuse();
  Fraction result;
  if (cut == std::string_view::npos) {
    result.inside().value = mpq_class(first, 10);
    return result;
  }
  if (!digits_only(second)) return refuse();
  if (text[cut] == '/') {
    if (second.find_first_not_of('0') == std::string::npos) return refuse();
    result.inside().value = mpq_class(first + "/" + second, 10);
  } else {
    result.inside().value = mpq_class(first + second + "/1" + std::string(second.size(), '0'), 10);
  }
  result.inside().value.canonicalize();
  return result;
}
Fraction Fraction::power(const Fraction& base, std::uint64_t exponent) {
  return {Whole::power(base.numerator(), exponent), Whole::power(base.denominator(), exponent)};
}

Fraction& Fraction::operator+=(const Fraction& other) {
  inside().value += other.inside().value;
  return *this;
}
Fraction& Fraction::operator-=(const Fraction& other) {
  inside().value -= other.inside().value;
  return *this;
}
Fraction& Fraction::operator*=(const Fraction& other) {
  inside().value *= other.inside().value;
  return *this;
}
Fraction& Fraction::operator/=(const Fraction& other) {
  CHECK(!other.zero());
  inside().value /= other.inside().value;
  return *this;
}

std::strong_ordering Fraction::operator<=>(const Fraction& other) const {
  return cmp(inside().value, other.inside().value) <=> 0;
}
bool Fraction::operator==(const Fraction& other) const {
  return inside().value == other.inside().value;
}

Whole Fraction::numerator() const {
  Whole result;
  result.inside().value = inside().value.get_num();
  return result;
}
Whole Fraction::denominator() const {
  Whole result;
  result.inside().value = inside().value.get_den();
  return result;
}
double Fraction::nearest() const { return inside().value.get_d(); }
std::string Fraction::text() const { return inside().value.get_str(); }
std::size_t Fraction::digits() const {
  return std::max(numerator().digits(), denominator().digits());
}

}  // namespace tempo::analysis
