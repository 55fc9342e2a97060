package node

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/metapb"
	"cordwood/router/httpapi/auth"
)

// renewUsers is how often a router that knows users of the metadata requests a lease, which lasts longer. While it
// holds one, a change of users is acknowledged only after this router applies it.
const renewUsers = 200 * time.Millisecond

// tokenReports is how often a router records when tokens were used.
const tokenReports = time.Hour

// keepUsers keeps the users of the metadata current, and creates the first administrator.
func (n *node) keepUsers(users *auth.Provider) {
	n.run("following the users of the metadata", func(ctx context.Context) error {
		tick := time.NewTicker(renewUsers)
		defer tick.Stop()
		reported := time.Now()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			case <-users.FirstStored(): // the next change may already take something away
			}
			if !users.HasStored() {
				continue
			}
			// Without the metadata group, the last known users stay in use for --access-max-age.
			sent := time.Now()
			if err := n.meta.KeepLease(ctx); err == nil {
				users.Heard(sent)
			}
			users.EndExpired()
			if now := time.Now(); now.Sub(reported) >= tokenReports {
				n.reportTokens(ctx, users)
				reported = now
			}
		}
	})
	n.run("serving the socket for a new administrator", n.serveAdminSocket)
	if n.cfg.Users.BootstrapAdmin != "" {
		n.bootstrapping.Store(true)
		n.run("creating the first administrator", n.bootstrapAdmin)
	} else {
		n.offerBootstrap()
	}
}

// registerAge registers the metric of the age of users. users may be nil.
func (n *node) registerAge(users *auth.Provider) {
	n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cordwood_access_age_seconds",
		Help: "How old this node's knowledge of the users and tokens of the metadata may be; 0 without any. Above " +
			"--access-max-age their requests get 503.",
	}, func() float64 { return users.Age().Seconds() }))
}

// reportTokens records when tokens were used, in whole hours. Uses that cannot be recorded are forgotten, since the
// next use is noted again.
func (n *node) reportTokens(ctx context.Context, users *auth.Provider) {
	uses := users.TokenUses()
	if len(uses) == 0 {
		return
	}
	if _, err := n.meta.Propose(ctx, &metapb.Command{TimeUnixNano: time.Now().UnixNano(), Op: &metapb.Command_TouchTokens{
		TouchTokens: &metapb.TouchTokens{Uses: uses},
	}}); err != nil {
		n.log.Warn("the last uses of tokens could not be recorded", "count", len(uses), "error", err)
	}
}
