#include "dashboard/history/history_file.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/input/file.h"
#include "base/json.h"
#include "dashboard/actions/action_request.h"

namespace evenkeel::dashboard {
namespace {

using base::Code;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr size_t kTimeBytes = 20;  // 2026-01-01T00:00:00Z
constexpr size_t kLineMax = 16u << 10;

/// Spaces end the parts of a line, and ids have some.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == ' ' ? std::string("%20") : c == '%' ? std::string("%25") : c == '\n' ? "%0A" : std::string(1, c);
  return out;
}

std::string Unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view code = text.substr(i, 3);
    const char plain = code == "%20" ? ' ' : code == "%25" ? '%' : code == "%0A" ? '\n' : '\0';
    out += plain == '\0' ? text[i] : plain;
    if (plain != '\0') i += 2;
  }
  return out;
}

std::string Line(base::Time time, std::string_view kind, std::string_view key, const Json& value) {
  return fmt::format("{} {} {} {}\n", base::FormatTime(time), kind, Escaped(key), base::ToText(value));
}

/// What a reader collects, line by line.
struct Collected {
  std::map<std::string, Json> events;  // by id, which begins with the time
  std::vector<std::pair<std::string, Json>> points;
  std::string since;

  void Take(std::string_view line, const HistoryRequest& request, std::string_view from, std::string_view to) {
    if (line.size() < kTimeBytes + 2 || line.size() > kLineMax || line[kTimeBytes] != ' ') return;
    const std::string_view time = line.substr(0, kTimeBytes);
    if (!base::ParseTime(time)) return;
    if (since.empty() || time < since) since = time;
    if (time < from || time > to) return;
    line.remove_prefix(kTimeBytes + 1);
    const size_t kind_end = line.find(' '), key_end = kind_end == line.npos ? line.npos : line.find(' ', kind_end + 1);
    if (key_end == line.npos) return;
    const std::string_view kind = line.substr(0, kind_end);
    const std::string key = Unescaped(line.substr(kind_end + 1, key_end - kind_end - 1));
    const bool event = kind == "event";
    // Points are of one member; most lines are of others, and are not read further.
    if (!event && (kind != "point" || key != request.cluster)) return;
    auto value = base::ParseJson(line.substr(key_end + 1), "history");
    if (!value || !value->is_object()) return;
    if (!event) {
      points.emplace_back(time, *std::move(value));
    } else if (request.cluster.empty() || base::FindString(*value, {"cluster"}) == request.cluster) {
      events[key] = *std::move(value);
      if (events.size() > kHistoryEventsMax) events.erase(events.begin());
    }
  }
};

}  // namespace

base::Result<HistoryRequest> HistoryRequest::Parse(const embedded::apiserver::Query& query, base::Time now) {
  HistoryRequest request{.cluster = query.Get("cluster"), .from = {}, .to = now};
  if (!request.cluster.empty() && !IsPlainName(request.cluster)) {
    return base::Fail(Code::kBadRequest, "cluster: not the name of a member");
  }
  const auto from = base::ParseTime(query.Get("from"));
  if (!from) return base::Fail(Code::kBadRequest, "from: not a time as 2026-01-01T00:00:00Z");
  request.from = std::max(*from, now - kHistoryAge);
  if (query.Has("to")) {
    const auto to = base::ParseTime(query.Get("to"));
    if (!to || *to < *from) return base::Fail(Code::kBadRequest, "to: not a time as 2026-01-01T00:00:00Z after from");
    request.to = *to;
  }
  return request;
}

std::string HistoryFile::EventLine(base::Time time, std::string_view id, const Json& entry) {
  return Line(time, "event", id, entry);
}

std::string HistoryFile::PointLine(base::Time time, std::string_view member, const Json& values) {
  return Line(time, "point", member, values);
}

base::Status HistoryFile::Append(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  if (text.empty()) return {};
  const std::lock_guard lock(mutex_);
  struct stat present{};
  if (::stat(path_.c_str(), &present) == 0 && static_cast<size_t>(present.st_size) + text.size() > bytes_max_ / 2) {
    if (std::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) {
      return base::Fail(Code::kInternal, fmt::format("{}: cannot begin a new file: {}", path_, std::strerror(errno)));
    }
  }
  const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return base::Fail(Code::kInternal, fmt::format("{}: {}", path_, std::strerror(errno)));
  // What was cut off before ends here, and is passed over.
  const base::Status written = base::WriteAll(file, torn_ ? "\n" + text : text, path_);
  torn_ = !written;
  ::close(file);
  EVENKEEL_TRY(written);
  return {};
}

base::Result<Json> HistoryFile::Read(const HistoryRequest& request) {
  std::string older, newer;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [path, text] : {std::pair(path_ + ".1", &older), std::pair(path_, &newer)}) {
      auto read = base::ReadFile(path, bytes_max_);
      if (!read && read.error().code() != Code::kNotFound) return base::Fail(read.error());
      if (read) *text = *std::move(read);
    }
  }
  const std::string from = base::FormatTime(request.from), to = base::FormatTime(request.to);
  Collected collected;
  for (const std::string_view text : {std::string_view(older), std::string_view(newer)}) {
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      if (end == text.npos) break;
      collected.Take(text.substr(at, end - at), request, from, to);
      at = end + 1;
    }
  }
  JsonObject events;
  for (auto& [id, entry] : collected.events) events[id] = std::move(entry);
  JsonArray points;
  const size_t step = collected.points.size() / kHistoryPointsMax + 1;
  for (size_t i = 0; i < collected.points.size(); i += step) {
    points.push_back(JsonArray{collected.points[i].first, std::move(collected.points[i].second)});
  }
  return Json(JsonObject{{"kept", true},
                         {"events", std::move(events)},
                         {"points", std::move(points)},
                         {"since", collected.since.empty() ? Json() : Json(collected.since)}});
}

}  // namespace evenkeel::dashboard
