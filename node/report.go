package node

import (
	"context"
	"strings"
	"time"

	"cordwood/proto/metapb"
	"cordwood/shard/store"
)

// reportEvery is the interval between reports to the metadata group.
const reportEvery = time.Second

// mostReported is the maximum number of bytes that a report has about object storage.
const mostReported = 1000

// reporter sends the state of this node to the metadata group.
type reporter struct {
	*membership
	// newReport returns a report of the current state.
	newReport func() *metapb.ReportRequest
	// hurry triggers a report at once.
	hurry chan struct{}
	// reporting holds a value while a report is sent.
	reporting chan struct{}
}

func newReporter(m *membership, newReport func() *metapb.ReportRequest) *reporter {
	return &reporter{
		membership: m, newReport: newReport,
		hurry: make(chan struct{}, 1), reporting: make(chan struct{}, 1),
	}
}

// report sends the state of this node and its replicas to the leader of the metadata group until ctx ends. It does
// not repeat a failed report: the next one has newer state.
func (n *reporter) report(ctx context.Context) error {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	failing := false
	for {
		call, cancel := context.WithTimeout(ctx, 3*reportEvery)
		err := n.sendReport(call)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		if (err != nil) != failing {
			failing = err != nil
			if failing {
				n.log.Warn("cannot report to the metadata group; the next report follows soon", "error", err)
			} else {
				n.log.Info("reports reach the metadata group again")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-n.hurry:
		}
	}
}

// reportSoon triggers the next report at once.
func (n *reporter) reportSoon() {
	select {
	case n.hurry <- struct{}{}:
	default:
	}
}

// reportLimit is the time limit of a report that another step waits for. Without a leader of the metadata group, no
// member accepts the report, and the node serves anyway.
const reportLimit = 300 * time.Millisecond

// reportNow sends a report and waits until it is accepted, or for reportLimit.
func (n *reporter) reportNow(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	if err := n.sendReport(ctx); err != nil {
		n.log.Debug("a report was not accepted; the next one contains the same state", "error", err)
	}
}

// sendReport sends a report of the current state, and waits until the leader of the metadata group has accepted it.
// It sends one report at a time, so that a report never arrives after a newer one.
func (n *reporter) sendReport(ctx context.Context) error {
	select {
	case n.reporting <- struct{}{}:
		defer func() { <-n.reporting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := n.meta.Report(ctx, n.newReport())
	return err
}

func (n *node) newReport() *metapb.ReportRequest {
	used, capacity := n.disk.usage()
	why, _ := n.leaving.Load().(string)
	r := &metapb.ReportRequest{
		NodeId: n.data.nodeID, Process: n.process, TimeUnixNano: time.Now().UnixNano(),
		DiskCapacity: int64(capacity), DiskUsed: int64(used), DiskFull: n.disk.space() == store.SpaceFull,
		Stopping: why != "", Version: n.proc.Version.Version,
		MinProtocol: metapb.MinProtocol, MaxProtocol: metapb.MaxProtocol, Protection: n.protection.kind,
	}
	if n.protection.credentials != nil {
		r.PlainNodes = n.nodes.Plain()
	}
	if n.reach != nil {
		r.Unreachable = n.reach.Unreachable()
		for _, f := range n.reach.Faults() {
			r.Unreached = append(r.Unreached, &metapb.Unreached{NodeId: f.Node, Reason: f.Reason, Silent: f.Silent})
		}
	}
	if o := n.trouble.objects.Load(); o != nil {
		text := strings.Join(o.warnings(), "; ")
		r.ObjectStorage = strings.ToValidUTF8(text[:min(len(text), mostReported)], "")
		r.Objects = o.use()
	}
	if n.host != nil {
		r.Replicas = n.host.Reports()
		r.LeftShards = n.host.Left()
		r.Stored = n.stored.count(time.Now(), n.meta, n.host.All())
		r.QueryCpu = n.usedCPU()
	}
	return r
}
