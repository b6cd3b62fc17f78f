#include "controllers/rollout/zookeeper/member/server_line.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/parse_number.h"
#include "controllers/rollout/zookeeper/spec/server_names.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

using base::Code;
using base::Fail;

constexpr std::string_view kPrefix = "server.";
constexpr int64_t kPortMax = 65535;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// A whole number from 1 to `max`; 0 when it is none.
int64_t ReadNumber(std::string_view text, int64_t max) {
  const int64_t number = base::ParseNumber<int64_t>(text).value_or(0);
  return number >= 1 && number <= max ? number : 0;
}

/// Takes "HOST" or "[ADDRESS]" off the front of "HOST:..."; "" when there is none.
std::string_view TakeHost(std::string_view& text) {
  size_t end = text.find(':');
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end != std::string_view::npos) ++end;
  }
  if (end == std::string_view::npos || end >= text.size() || text[end] != ':') return "";
  const std::string_view host = text.substr(0, end);
  text.remove_prefix(end + 1);
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

std::string_view TakePart(std::string_view& text) {
  const size_t end = std::min(text.find(':'), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

base::Result<ServerLine> ParseServerLine(std::string_view line) {
  const std::string_view text = Trim(line);
  const auto wrong = [&](std::string_view what) {
    return Fail(Code::kBadRequest, fmt::format("\"{}\": {}", text.substr(0, 200), what));
  };
  const size_t equals = text.find('=');
  if (!text.starts_with(kPrefix) || equals == std::string_view::npos) return wrong("not of the form server.ID=HOST:PORT:PORT");
  ServerLine server;
  server.text = text;
  server.id = ReadNumber(text.substr(kPrefix.size(), equals - kPrefix.size()), kIdMax);
  if (server.id == 0) return wrong(fmt::format("the id is not a number from 1 to {}", kIdMax));
  std::string_view rest = text.substr(equals + 1);
  const size_t semicolon = std::min(rest.find(';'), rest.size());
  std::string_view client = rest.substr(std::min(semicolon + 1, rest.size()));
  const bool has_client = semicolon < rest.size();
  // Several addresses of one server are joined by "|"; a role follows the last.
  std::string_view addresses = rest.substr(0, semicolon);
  std::string_view first = addresses.substr(0, addresses.find('|'));
  std::string_view last = addresses.substr(addresses.rfind('|') == std::string_view::npos ? 0 : addresses.rfind('|') + 1);
  server.host = TakeHost(first);
  if (server.host.empty()) return wrong("it names no host");
  server.quorum_port = static_cast<int>(ReadNumber(TakePart(first), kPortMax));
  server.election_port = static_cast<int>(ReadNumber(TakePart(first), kPortMax));
  if (server.quorum_port == 0 || server.election_port == 0) return wrong("two ports have to follow the host");
  TakeHost(last);
  TakePart(last);
  TakePart(last);
  if (last != "" && last != "participant" && last != "observer") return wrong("a server is a participant or an observer");
  server.observer = last == "observer";
  if (!has_client) return server;
  if (client.contains(':')) server.client_host = TakeHost(client);
  server.client_port = static_cast<int>(ReadNumber(client, kPortMax));
  if (server.client_port == 0) return wrong("what follows the semicolon is no port");
  return server;
}

base::Result<std::vector<ServerLine>> ParseServerLines(const std::vector<std::string>& lines) {
  std::vector<ServerLine> servers;
  for (const std::string& line : lines) {
    EVENKEEL_ASSIGN(ServerLine server, ParseServerLine(line));
    if (FindServer(servers, server.id) != nullptr) {
      return Fail(Code::kBadRequest, fmt::format("\"{}\": {} is the id of another server, too", server.text, server.id));
    }
    servers.push_back(std::move(server));
  }
  std::ranges::sort(servers, {}, &ServerLine::id);
  return servers;
}

const ServerLine* FindServer(const std::vector<ServerLine>& servers, int64_t id) {
  const auto found = std::ranges::find(servers, id, &ServerLine::id);
  return found == servers.end() ? nullptr : &*found;
}

std::set<int64_t> VotersOf(const std::vector<ServerLine>& servers) {
  std::set<int64_t> voters;
  for (const ServerLine& server : servers) {
    if (!server.observer) voters.insert(server.id);
  }
  return voters;
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
