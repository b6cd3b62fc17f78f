#include "controllers/distribution/distributor/token_renewer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "controllers/distribution/sharding/account_token.h"
#include "controllers/distribution/sharding/cluster.h"
#include "controllers/runtime/rate_limited_log.h"
#include "kube/types.h"

namespace evenkeel::controllers::distribution {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kLookMax = 1h;
// After what did not succeed. A token has a third of its life left then, at least 200 s on any API server.
constexpr base::Duration kAgain = 30s;
// Between two looks, also where the clock of the one who wrote the Secret is another.
constexpr base::Duration kLookMin = 1s;
// A replica may win many members at once.
constexpr base::Duration kSpread = 20s;

class TokenRenewer final : public runtime::MemberController {
 public:
  TokenRenewer(const TokenRenewerContext& context, runtime::Member& member)
      : context_(context),
        member_(member),
        random_(context.random.Fork(member.name())),
        trouble_(context.clock, "token is not renewed", member.name()) {
    member_.strand()->Post([this] { Schedule(random_.Between({}, kSpread)); });
  }

 private:
  void Schedule(base::Duration delay) {
    timer_ = member_.strand()->PostAfter(delay, [this] {
      const auto next = Look();
      if (next) {
        trouble_.Clear();
      } else {
        trouble_.Record("its Secret", next.error().message());
      }
      Schedule(next ? std::clamp(*next, kLookMin, kLookMax) : kAgain);
    });
  }

  /// The member's Secret as the hub has it; nothing where its token is none that is renewed.
  base::Result<std::optional<base::Json>> FindSecret() {
    client::ListOptions options;
    options.ns = context_.ns;
    options.label_selector = std::string(kClusterSecretLabel) + "=cluster," + std::string(kTokenLabel);
    if (!secret_.empty()) options.field_selector = "metadata.name=" + secret_;
    EVENKEEL_ASSIGN(client::ListPage page, client::ListAll(context_.hub, kube::resources::Secrets(), options));
    secret_.clear();
    for (base::Json& secret : page.items) {
      // API servers leave it out of the items of lists, and what is base64 depends on it.
      base::Ensure(secret, {"kind"}) = kube::resources::Secrets().kind;
      base::Ensure(secret, {"apiVersion"}) = kube::resources::Secrets().ApiVersion();
      if (!IsClusterSecret(secret) || !AccountTokenOf(secret)) continue;
      std::vector<Finding> ignored;
      const auto cluster = ClusterFromSecret(secret, ignored);
      if (!cluster || (member_.name() != cluster->name && member_.name() != cluster->NameWithServer())) continue;
      secret_ = kube::NameOf(secret);
      return std::optional(std::move(secret));
    }
    return std::nullopt;
  }

  /// When to look again.
  base::Result<base::Duration> Look() {
    EVENKEEL_ASSIGN(std::optional<base::Json> found, FindSecret());
    if (!found) return kLookMax;
    base::Json& secret = *found;
    const auto token = AccountTokenOf(secret);
    const base::Time now = context_.clock.Now();
    if (now < token->renewal()) return token->renewal() - now;
    EVENKEEL_ASSIGN(const NewToken made, RequestToken(member_.client(), token->ns, token->account, token->lifetime()));
    EVENKEEL_TRY(PutToken(secret, made, token->ns, token->account, now));
    // Only by the owner; and only in the place of what was read.
    EVENKEEL_TRY(member_.Write("the token of the member", [&]() -> base::Status {
      auto written = context_.hub.Update(kube::resources::Secrets(), secret);
      if (!written) return base::Fail(written.error().Wrap("write Secret " + kube::KeyOf(secret)));
      return {};
    }));
    base::log::Info("token of the member is renewed", {{"cluster", member_.name()},
                                                       {"secret", kube::KeyOf(secret)},
                                                       {"account", token->ns + "/" + token->account},
                                                       {"until", base::FormatTime(made.expires)}});
    return (made.expires - now) * 2 / 3;
  }

  const TokenRenewerContext& context_;
  runtime::Member& member_;
  base::Random random_;
  runtime::RateLimitedLog trouble_;
  std::string secret_;  ///< its name, once it is known
  base::Timer timer_;
};

}  // namespace

runtime::MemberControllerFactory NewTokenRenewer(TokenRenewerContext context) {
  return [context = std::make_shared<const TokenRenewerContext>(std::move(context))](runtime::Member& member) {
    struct Kept final : runtime::MemberController {
      Kept(std::shared_ptr<const TokenRenewerContext> kept, runtime::Member& of)
          : context(std::move(kept)), renewer(*context, of) {}
      std::shared_ptr<const TokenRenewerContext> context;
      TokenRenewer renewer;
    };
    return std::make_unique<Kept>(context, member);
  };
}

}  // namespace evenkeel::controllers::distribution
