#include "tempo/time_c.h"

#include <utility>

#include "client/c_error.h"
#include "client/c_now.h"
#include "tempo/time.h"

struct tempo_time_page {
  explicit tempo_time_page(tempo::TimePage opened) : page(std::move(opened)) {}
  tempo::TimePage page;
  tempo::Timestamps stamps{page};
};

extern "C" {

tempo_time_page* tempo_time_page_open(const char* path, tempo_error* error, char* message,
                                      unsigned size) {
  auto page = tempo::TimePage::open(path == nullptr ? tempo::kDefaultTimePage : path);
  if (page) return new tempo_time_page(*std::move(page));
  tempo::copy_error(page.error(), error, message, size);
  return nullptr;
}

void tempo_time_page_close(tempo_time_page* page) { delete page; }

tempo_now tempo_time_page_now(const tempo_time_page* page) {
  return tempo::c_now(page->page.now());
}

int tempo_time_page_wait_until_after(const tempo_time_page* page, std::int64_t instant_ns,
                                     std::int64_t limit_ns, int cancel) {
  const tempo::NetworkTime instant{std::chrono::nanoseconds{instant_ns}};
  return page->page.wait_until_after(instant, std::chrono::nanoseconds{limit_ns}, cancel) ? 1 : 0;
}

std::int64_t tempo_time_page_timestamp(tempo_time_page* page) {
  const auto stamp = page->stamps.next();
  return stamp ? stamp->time_since_epoch().count() : 0;
}

}  // extern "C"
