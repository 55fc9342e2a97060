package doctor

import (
	"context"
	"errors"

	"cordwood/node/config"
	"cordwood/node/rpcport"
)

// seeds asks each seed of the settings whether it would admit this node with the credentials of the
// settings.
func (d *doctor) seeds(ctx context.Context) {
	d.part = "settings"
	c := d.cfg.Settings
	if c == nil {
		return
	}
	id := "doctor"
	if d.folder != nil && d.folder.NodeID != "" {
		id = d.folder.NodeID
	}
	for seed, err := range c.TrySeeds(ctx, id, dialWait) {
		unproven := (*rpcport.Unproven)(nil)
		switch {
		case errors.As(err, &unproven):
			d.find(Attention, "", "give both a copy of the cluster's secret (--cluster-secret-file), or both "+
				"certificates of one authority", "seed %s and this node do not accept each other: %v", seed, unproven)
		case err != nil:
			d.find(Note, "", "start it, if it should be running", "seed %s does not answer: %v", seed, err)
		}
	}
}

// protection reports settings with which unauthenticated programs can connect to the port between nodes.
func (d *doctor) protection(c *config.Config) {
	if c.RPC.Insecure {
		d.find(Attention, "", "remove it once all nodes have the cluster's secret or certificates",
			"--rpc-insecure: anyone who can reach %s can read and write everything, as a node", c.RPC.Addr)
	}
	if file := c.SecretReadableByAll(); file != "" {
		d.find(Attention, "", "chmod o-r "+file, "every account of this machine may read the secret of the cluster, %s", file)
	}
}
