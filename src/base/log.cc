#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace evenkeel::base::log {
namespace {

std::shared_ptr<spdlog::logger> MakeLogger(spdlog::sink_ptr sink) {
  auto logger = std::make_shared<spdlog::logger>("evenkeel", std::move(sink));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%fZ %l %v", spdlog::pattern_time_type::utc);
  logger->set_level(spdlog::level::info);
  // A line that explains a crash must not be in a buffer when it comes.
  logger->flush_on(spdlog::level::trace);
  return logger;
}

std::shared_ptr<spdlog::logger>& TheLogger() {
  static std::shared_ptr<spdlog::logger> logger = MakeLogger(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  return logger;
}

spdlog::level::level_enum ToSpdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    case Level::kOff:
      break;
  }
  return spdlog::level::off;
}

bool CarriesSecret(std::string_view key) {
  static constexpr std::array<std::string_view, 5> kEndings = {"token", "password", "authorization", "key-data", "keydata"};
  const std::string lower = Lower(key);
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) { return lower.ends_with(ending); });
}

// Control characters would break the one-line rule, and let input forge lines.
void AppendEscaped(std::string& line, std::string_view text, bool in_quotes) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (c == '\r') {
      line += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      line += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      if (in_quotes && (c == '"' || c == '\\')) line += '\\';
      line += c;
    }
  }
}

void AppendValue(std::string& line, std::string_view value) {
  const bool quote = value.empty() || std::any_of(value.begin(), value.end(), [](char c) {
                       const auto byte = static_cast<unsigned char>(c);
                       return byte <= 0x20 || byte == 0x7f || c == '=' || c == '"';
                     });
  if (!quote) {
    line += value;
    return;
  }
  line += '"';
  AppendEscaped(line, value, true);
  line += '"';
}

void Write(Level level, std::string_view message, Fields fields) {
  spdlog::logger& logger = *TheLogger();
  const auto spdlog_level = ToSpdlog(level);
  if (!logger.should_log(spdlog_level)) return;
  std::string line;
  AppendEscaped(line, message, false);
  for (const Field& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    AppendValue(line, CarriesSecret(field.key) ? std::string_view("<redacted>") : std::string_view(field.value));
  }
  logger.log(spdlog_level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

Status Configure(Level level, const std::string& file) {
  try {
    auto& logger = TheLogger();
    if (file.empty()) {
      logger = MakeLogger(std::make_shared<spdlog::sinks::stderr_sink_mt>());
    } else {
      logger = MakeLogger(std::make_shared<spdlog::sinks::basic_file_sink_mt>(file));
    }
    logger->set_level(ToSpdlog(level));
    return {};
  } catch (const spdlog::spdlog_ex& error) {
    return Fail(Code::kInternal, "opening the log file " + file + ": " + error.what());
  }
}

// Other programs have a level "trace", too; nothing here is finer than debug.
Result<Level> ParseLevel(std::string_view name) {
  if (name == "debug" || name == "trace") return Level::kDebug;
  if (name == "info") return Level::kInfo;
  if (name == "warn" || name == "warning") return Level::kWarn;
  if (name == "error") return Level::kError;
  if (name == "off") return Level::kOff;
  return Fail(Code::kBadRequest, "unknown log level \"" + std::string(name) + "\": use trace, debug, info, warn, error or off");
}

void Debug(std::string_view message, Fields fields) { Write(Level::kDebug, message, fields); }
void Info(std::string_view message, Fields fields) { Write(Level::kInfo, message, fields); }
void Warn(std::string_view message, Fields fields) { Write(Level::kWarn, message, fields); }
void Error(std::string_view message, Fields fields) { Write(Level::kError, message, fields); }

}  // namespace evenkeel::base::log
