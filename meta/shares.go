package meta

import (
	"context"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shares"
)

// ShareQuotas stores what a router used of quotas, and returns its shares of them.
func (m *Meta) ShareQuotas(
	_ context.Context, req *metapb.ShareQuotasRequest,
) (*metapb.ShareQuotasResponse, error) {
	resp, err := m.shareQuotas(req)
	return resp, errs.ToGRPC(err)
}

func (m *Meta) shareQuotas(req *metapb.ShareQuotasRequest) (*metapb.ShareQuotasResponse, error) {
	term, err := m.leadTerm()
	if err != nil {
		return nil, err
	}
	if err := checkText("node id", req.NodeId, true); err != nil {
		return nil, err
	}
	if err := shares.Check(req); err != nil {
		return nil, err
	}
	limits := map[shares.Quota]uint64{}
	err = m.catalog.View(func(tx *catalog.Tx) error {
		for _, u := range req.Uses {
			d, err := tx.Databases.Get(u.GetDatabase())
			if err != nil {
				return err
			}
			if limit, ok := schema.Quota(d.GetOptions(), u.GetName()); ok {
				limits[shares.Quota{Database: u.Database, Name: u.Name}] = limit
			}
		}
		return nil
	})
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "divide the quotas for node %s", req.NodeId)
	}
	resp := m.shares.Divide(term, m.cfg.Now(), req, limits)
	resp.Stored, resp.QueryCpu = m.reports.stored(term), m.reports.queryCPU(term)
	return resp, nil
}
