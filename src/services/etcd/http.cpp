#include "services/etcd/http.h"

#include <algorithm>
#include <list>
#include <utility>

#include <curl/curl.h>
#include <fmt/core.h>

namespace tempo::etcd {
namespace {

constexpr std::size_t kMaxAnswer = 4 << 20;  // bytes; also the limit for a line of a stream
constexpr Nanos kRelaxedTimeout = 5s;        // timeout of requests that are not urgent
constexpr long kKeepAliveSeconds = 10;       // TCP keep-alive interval of a silent stream

struct Transfer {
  CURL* easy = nullptr;
  Request request;
  Http::Answer answer;
  bool streams = false;
  std::size_t endpoint = 0;
  std::size_t tries = 0;
  std::string input{};
  bool too_long = false;
};

void answer_line(Transfer& transfer, std::string_view line) {
  auto json = Json::parse(line);
  if (json)
    transfer.answer(*json);
  else
    transfer.answer(std::unexpected(
        "the answer is not JSON; check that 'etcd-endpoints' names etcd 3.4 or later"));
}

std::size_t take(char* data, std::size_t, std::size_t size, void* to) {
  Transfer& transfer = *static_cast<Transfer*>(to);
  if (transfer.input.size() + size > kMaxAnswer) {
    transfer.too_long = true;
    return 0;
  }
  transfer.input.append(data, size);
  return size;
}

class CurlHttp final : public Http {
 public:
  explicit CurlHttp(Options options)
      : options_(std::move(options)),
        multi_(curl_multi_init()),
        headers_(curl_slist_append(nullptr, "Content-Type: application/json")) {}
  ~CurlHttp() override {
    for (const Transfer& transfer : transfers_) {
      curl_multi_remove_handle(multi_, transfer.easy);
      curl_easy_cleanup(transfer.easy);
    }
    curl_multi_cleanup(multi_);
    curl_slist_free_all(headers_);
  }
  CurlHttp(const CurlHttp&) = delete;
  CurlHttp& operator=(const CurlHttp&) = delete;

  void post(const Request& request, Answer answer) override {
    begin({.request = request, .answer = std::move(answer)});
  }
  void follow(const Request& request, Answer each) override {
    begin({.request = request, .answer = std::move(each), .streams = true});
  }

  void wait(std::vector<pollfd>& others, Nanos longest) override {
    if (perform()) longest = Nanos{0};
    std::vector<curl_waitfd> extra;
    extra.reserve(others.size());
    for (const pollfd& other : others)
      extra.push_back(
          {.fd = other.fd,
           .events = static_cast<short>(((other.events & POLLIN) != 0 ? CURL_WAIT_POLLIN : 0) |
                                        ((other.events & POLLOUT) != 0 ? CURL_WAIT_POLLOUT : 0)),
           .revents = 0});
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
    curl_multi_poll(multi_, extra.data(), static_cast<unsigned>(extra.size()),
                    static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60'000)), nullptr);
    for (std::size_t i = 0; i < others.size(); ++i) others[i].revents = extra[i].revents;
    perform();
  }

 private:
  void begin(Transfer transfer) {
    transfers_.push_back(std::move(transfer));
    Transfer& kept = transfers_.back();
    kept.endpoint = current_;
    start(kept);
  }

  void start(Transfer& transfer) {
    CURL* const easy = curl_easy_init();
    transfer.easy = easy;
    ++transfer.tries;
    transfer.input.clear();
    const std::string url = options_.endpoints[transfer.endpoint] + transfer.request.path;
    const Nanos longest = transfer.request.urgent
                              ? options_.timeout
                              : std::max<Nanos>(options_.timeout, kRelaxedTimeout);
    const long timeout = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(transfer.request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, transfer.request.body.c_str());
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, timeout);
    if (transfer.streams) {
      curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
      curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
      curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, kKeepAliveSeconds);
    } else {
      curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout);
    }
    if (!options_.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
    if (!options_.cert_file.empty()) {
      curl_easy_setopt(easy, CURLOPT_SSLCERT, options_.cert_file.c_str());
      curl_easy_setopt(easy, CURLOPT_SSLKEY, options_.key_file.c_str());
    }
    curl_multi_add_handle(multi_, easy);
  }

  // True if anything arrived. Answers are delivered after libcurl has finished, because they may
  // send new requests.
  bool perform() {
    int running = 0;
    curl_multi_perform(multi_, &running);
    bool arrived = false;
    for (Transfer& transfer : transfers_)
      for (std::size_t end = 0;
           transfer.streams && (end = transfer.input.find('\n')) != std::string::npos;) {
        arrived = true;
        const std::string line = transfer.input.substr(0, end);
        transfer.input.erase(0, end + 1);
        answer_line(transfer, line);
      }
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      arrived = true;
      Transfer* ended = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &ended);
      finish(*ended, message->data.result);
    }
    return arrived;
  }

  void finish(Transfer& transfer, CURLcode result) {
    curl_multi_remove_handle(multi_, transfer.easy);
    curl_easy_cleanup(transfer.easy);
    const std::string endpoint = options_.endpoints[transfer.endpoint];
    if (result != CURLE_OK && !transfer.too_long && current_ == transfer.endpoint)
      current_ = (current_ + 1) % options_.endpoints.size();
    // The connection was refused, so the request can go to another endpoint.
    if (result == CURLE_COULDNT_CONNECT && transfer.tries < options_.endpoints.size()) {
      transfer.endpoint = (transfer.endpoint + 1) % options_.endpoints.size();
      return start(transfer);
    }
    const auto place = std::ranges::find_if(
        transfers_, [&](const Transfer& other) { return &other == &transfer; });
    std::list<Transfer> gone;  // the callback may send new requests
    gone.splice(gone.begin(), transfers_, place);
    Transfer& last = gone.front();
    if (last.too_long)
      last.answer(
          std::unexpected(fmt::format("the answer of etcd at {} is longer than 4 MB", endpoint)));
    else if (result != CURLE_OK)
      last.answer(std::unexpected(fmt::format(
          "etcd cannot be reached at {} ({}); start it or fix 'etcd-endpoints' under [locks]",
          endpoint, curl_easy_strerror(result))));
    else if (last.streams)
      last.answer(
          std::unexpected(fmt::format("etcd at {} closed the stream of changes", endpoint)));
    else
      answer_line(last, last.input);
  }

  Options options_;
  CURLM* multi_;
  curl_slist* headers_;
  std::list<Transfer> transfers_;  // requests in progress
  std::size_t current_ = 0;
};

}  // namespace

Result<std::unique_ptr<Http>> Http::create(Options options) {
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
    return std::unexpected("cannot initialize libcurl");
  return std::make_unique<CurlHttp>(std::move(options));
}

}  // namespace tempo::etcd
