#include "embedded/nodeagent/container_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "base/input/file.h"

namespace evenkeel::embedded::nodeagent {
namespace {

constexpr size_t kLineMax = 16 << 10;

struct LogLine {
  std::string_view time, text;
  bool full = false;
};

std::optional<LogLine> SplitLine(std::string_view line) {
  LogLine parts;
  const size_t first = line.find(' ');
  const size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos || second + 2 > line.size()) return std::nullopt;
  const char tag = line[second + 1];
  if (tag != 'F' && tag != 'P') return std::nullopt;
  parts.time = line.substr(0, first);
  parts.full = tag == 'F';
  parts.text = line.substr(std::min(second + 3, line.size()));
  return parts;
}

}  // namespace

ContainerLogWriter::ContainerLogWriter(std::string path, base::Clock& clock, int64_t rotate_bytes)
    : path_(std::move(path)), clock_(clock), rotate_bytes_(rotate_bytes) {
  Open();
}

ContainerLogWriter::~ContainerLogWriter() {
  Finish();
  if (file_ >= 0) close(file_);
}

void ContainerLogWriter::Open() {
  if (file_ >= 0) close(file_);
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  size_ = file_ < 0 ? 0 : std::max<int64_t>(lseek(file_, 0, SEEK_END), 0);
}

void ContainerLogWriter::Append(int stream, std::string_view bytes) {
  std::string& open_line = open_[stream == 2 ? 1 : 0];
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const size_t take = std::min({end, bytes.size(), kLineMax - open_line.size()});
    open_line.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    if (!bytes.empty() && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      WriteLine(stream, open_line, true);
      open_line.clear();
    } else if (open_line.size() >= kLineMax) {
      WriteLine(stream, open_line, false);
      open_line.clear();
    }
  }
}

void ContainerLogWriter::Finish() {
  for (const int stream : {1, 2}) {
    std::string& open_line = open_[stream - 1];
    if (!open_line.empty()) WriteLine(stream, open_line, true);
    open_line.clear();
  }
}

void ContainerLogWriter::WriteLine(int stream, std::string_view text, bool full) {
  if (size_ >= rotate_bytes_) {
    std::rename(path_.c_str(), (path_ + ".1").c_str());
    Open();
  }
  if (file_ < 0) return;
  const std::string line = fmt::format("{} {} {} {}\n", base::FormatMicroTime(clock_.Now()), stream == 2 ? "stderr" : "stdout",
                                       full ? 'F' : 'P', text);
  if (const ssize_t written = write(file_, line.data(), line.size()); written > 0) size_ += written;
}

std::string RenderLog(std::string_view text, const LogView& view) {
  std::vector<LogLine> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const auto line = SplitLine(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line) continue;
    if (view.since) {
      const auto time = base::ParseTime(line->time);
      if (time && *time < *view.since) continue;
    }
    lines.push_back(*line);
  }
  size_t begin = 0;
  if (view.tail_lines) {
    // Counted in lines as the program wrote them: partial ones belong to the full one that follows.
    int64_t wanted = std::max<int64_t>(*view.tail_lines, 0);
    begin = lines.size();
    while (begin > 0 && (wanted > 0 || !lines[begin - 1].full)) {
      if (lines[begin - 1].full) --wanted;
      --begin;
    }
    if (*view.tail_lines <= 0) begin = lines.size();
    while (begin > 0 && begin < lines.size() && !lines[begin - 1].full) --begin;
  }
  std::string rendered;
  bool at_start = true;
  for (size_t i = begin; i < lines.size(); ++i) {
    if (view.timestamps && at_start) rendered.append(lines[i].time).append(" ");
    rendered.append(lines[i].text);
    if (lines[i].full) rendered += '\n';
    at_start = lines[i].full;
  }
  if (view.limit_bytes && *view.limit_bytes >= 0 && rendered.size() > static_cast<size_t>(*view.limit_bytes)) {
    rendered.resize(static_cast<size_t>(*view.limit_bytes));
  }
  return rendered;
}

base::Result<std::string> ReadContainerLog(const std::string& path, const LogView& view) {
  std::string text;
  for (const std::string& file : {path + ".1", path}) {
    auto content = base::ReadFile(file);
    if (content) {
      text += *content;
    } else if (content.error().code() != base::Code::kNotFound) {
      return base::Fail(content.error());
    }
  }
  return RenderLog(text, view);
}

}  // namespace evenkeel::embedded::nodeagent
