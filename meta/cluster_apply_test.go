package meta

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
	"cordwood/shard/replica"
)

func TestApplyCluster(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps [][2]string
	}{
		{"a cluster that waits for shard nodes", [][2]string{
			{"bootstrap c1 shards=2 no-node replication=3", "cluster c1"},
			{"ensure t time:ts9!", "4008 Table `t` cannot be created yet: the cluster has no shard and waits for " +
				"shard nodes; start them, and try again"},
			{"create t time:ts9!", "4008 Table `t` cannot be created yet: the cluster has no shard and waits for " +
				"shard nodes; start them, and try again"},
			{"create-shard n1,n2", "1004 Node n1 is not known to the cluster"},
			{"node n1", "cluster c1"},
			{"node n2", "cluster c1"},
			{"create-shard n1,n1", "1004 Create a shard: node n1 is given twice"},
			{"create-shard n1,n2 want=3", "shard 1 v1 want3 [n1 n2] learners[] founders[n1 n2] removed[]"},
			{"create-shard n2 id=1", "5001 Shard 1 cannot be created: the next id is 2; another shard was created meanwhile"},
			{"create-shard n2 id=2", "shard 2 v1 want1 [n2] learners[] founders[n2] removed[]"},
			{"ensure t time:ts9!", "t=1 v1 @2 time:timestampnanosecond/1! append_mode=true"},
		}},
		{"replicas come and go", [][2]string{
			{"bootstrap c1 shards=1", "cluster c1"},
			{"node n1", "cluster c1"},
			{"node n2", "cluster c1"},
			{"node n3", "cluster c1"},
			{"change-shard 2 v=0 add=n2", "4005 Shard 2 not found"},
			{"change-shard 1 v=1 add=n2", "5001 Shard 1 has version 0 and not 1: it was changed meanwhile; read it again"},
			{"change-shard 1 v=0 add=n9", "1004 Node n9 is not known to the cluster"},
			{"change-shard 1 v=0 add=n1", "1004 Shard 1 has a replica on node n1 already"},
			{"change-shard 1 v=0 promote=n2", "1004 Shard 1: node n2 is not a learner"},
			{
				"change-shard 1 v=0 remove=n1",
				"1004 Shard 1: the replica on node n1 is the only voter; its rows would be lost",
			},
			{"change-shard 1 v=0 add=n2", "shard 1 v1 want0 [n1] learners[n2] founders[] removed[]"},
			{
				"change-shard 1 v=1 remove=n1",
				"1004 Shard 1: the replica on node n1 is the only voter; its rows would be lost",
			},
			{"change-shard 1 v=1 promote=n2", "shard 1 v2 want0 [n1 n2] learners[] founders[] removed[]"},
			{"change-shard 1 v=2 remove=n1", "shard 1 v3 want0 [n2] learners[] founders[] removed[n1]"},
			{
				"change-shard 1 v=3 add=n1",
				"1004 Shard 1: node n1 has not deleted its former replica; wait until it has",
			},
			{"change-shard 1 v=3 forget=n2", "1004 Shard 1: node n2 has no removed replica"},
			{"change-shard 1 v=3 forget=n1", "shard 1 v4 want0 [n2] learners[] founders[] removed[]"},
			{"change-shard 1 v=4 add=n3", "shard 1 v5 want0 [n2] learners[n3] founders[] removed[]"},
			{"change-shard 1 v=5 remove=n3", "shard 1 v6 want0 [n2] learners[] founders[] removed[n3]"},
			{"change-shard 1 v=6 want=3", "shard 1 v7 want3 [n2] learners[] founders[] removed[n3]"},
			{"change-shard 1 v=7 want=9", "1004 A shard with 9 replicas: 1 to 7 are possible"},
			{"change-shard 1 v=7", "1004 Change shard 1: no change is given"},
		}},
		{"a replica that was recovered", [][2]string{
			{"bootstrap c1 shards=1", "cluster c1"},
			{"node n1", "cluster c1"},
			{"node n2", "cluster c1"},
			{"node n3", "cluster c1"},
			{"create-shard n1,n2 want=3", "shard 2 v1 want3 [n1 n2] learners[] founders[n1 n2] removed[]"},
			{"change-shard 2 v=1 add=n3", "shard 2 v2 want3 [n1 n2] learners[n3] founders[n1 n2] removed[]"},
			{"change-shard 2 v=2 as=2 recovered=n9", "1004 Shard 2 has no replica on node n9 that could have been recovered"},
			{
				"change-shard 2 v=2 as=1 recovered=n2",
				"1006 Shard 2 has incarnation 1: a replica of incarnation 1 is too old: the shard was recovered elsewhere",
			},
			{"change-shard 2 v=2 as=2 recovered=n2", "shard 2 v3 want3 [n2] learners[] founders[n2] removed[]"},
			{
				"change-shard 2 v=3 as=2 recovered=n2",
				"1006 Shard 2 has incarnation 2: a replica of incarnation 2 is too old: the shard was recovered elsewhere",
			},
			{"change-shard 2 v=3 add=n1", "shard 2 v4 want3 [n2] learners[n1] founders[n2] removed[]"},
			{"change-shard 2 v=4 anew=n9", "1004 Node n9 is not known to the cluster"},
			{"change-shard 2 v=4 anew=n3,n3", "1004 Create shard 2 again: node n3 is given twice"},
			{"change-shard 2 v=4 anew=n3", "shard 2 v5 want3 [n3] learners[] founders[n3] removed[]"},
			{"change-shard 2 v=5 as=3 recovered=n3", "1006 Shard 2 has incarnation 1002: a replica of incarnation 3 " +
				"is too old: the shard was recovered elsewhere"},
			{"change-shard 2 v=5 add=n1", "shard 2 v6 want3 [n3] learners[n1] founders[n3] removed[]"},
			{"change-shard 2 v=6 remove=n1", "shard 2 v7 want3 [n3] learners[] founders[n3] removed[n1]"},
			{
				"change-shard 2 v=7 anew=n1",
				"1004 Shard 2: node n1 has not deleted its former replica; wait until it has",
			},
		}},
		{"nodes that leave", [][2]string{
			{"bootstrap c1 shards=1", "cluster c1"},
			{"node n1", "cluster c1"},
			{"node n2", "cluster c1"},
			{"create-shard n2", "shard 2 v1 want1 [n2] learners[] founders[n2] removed[]"},
			{"state n9 draining", "1004 Node n9 is not known to the cluster"},
			{
				"state n1 unspecified",
				"1004 Set the state of node n1: NODE_STATE_UNSPECIFIED is not a state that a user can set",
			},
			{"state n1 draining", ""},
			{
				"state n1 drained",
				"1004 Node n1 is not drained: it has replicas of 1 shards, shard 1 the first of them; drain it first",
			},
			{"ensure a time:ts9! | b time:ts9!", "a=1 v1 @2 time:timestampnanosecond/1! append_mode=true; b=2 v1 @2 " +
				"time:timestampnanosecond/1! append_mode=true"},
			{"create c time:ts9! append_mode=true", "c=3 v1 @2 time:timestampnanosecond/1! append_mode=true"},
			{"node n1", "cluster c1"}, // it registers again and keeps its state
			{"create-shard n1", "1004 Node n1 cannot get a replica: " +
				"it is being drained or was drained; undo that first"},
			{"change-shard 2 v=1 add=n1", "1004 Node n1 cannot get a replica: " +
				"it is being drained or was drained; undo that first"},
			{
				"remove-node n1",
				"1004 Node n1 cannot be removed: it has replicas of 1 shards, shard 1 the first of them; drain it first",
			},
			{"change-shard 1 v=0 add=n2", "shard 1 v1 want0 [n1] learners[n2] founders[] removed[]"},
			{"change-shard 1 v=1 promote=n2", "shard 1 v2 want0 [n1 n2] learners[] founders[] removed[]"},
			{"change-shard 1 v=2 remove=n1", "shard 1 v3 want0 [n2] learners[] founders[] removed[n1]"},
			{"state n1 drained", ""},
			{"remove-node n1", ""},
			{"remove-node n1", ""},
			{"remove-node n9", "1004 Node n9 is not known to the cluster"},
			{"node n1", "1004 Node n1 was removed from cluster c1; to let the machine take part again, start it with " +
				"an empty data folder"},
			{"change-shard 1 v=4 want=1", "shard 1 v5 want1 [n2] learners[] founders[] removed[]"},
			{"state n2 draining", ""}, // no shard is elsewhere
			{"ensure d time:ts9!", "d=4 v1 @1 time:timestampnanosecond/1! append_mode=true"},
		}},
		{"data folders of before", [][2]string{
			{"bootstrap c1 shards=1", "cluster c1"},
			{"node n1 marks=1a", "cluster c1"},
			{"node n1 marks=7x", "cluster c1"}, // its folder also contains the metadata
			{"node n2", "cluster c1"},          // its copy of the metadata is behind
			{"node n1", "4008 Node n1 did not report the mark of its data folder, because its copy of the metadata " +
				"is behind; try again"},
			{"node n1 marks=7x,8a", "cluster c1"},
			{"node n1 marks=7x,8a", "cluster c1"},        // reported twice
			{"node n1 marks=7x,8a,9a,10a", "cluster c1"}, // it did not get the answer
			{"node n1 marks=7x,8b,9b,10b,11b", "1004 the data folder of node n1 is older than its last state in the cluster: " +
				"it has mark 7, and the cluster mark 10: …"},
			{"node n1 marks=1a", "1004 the data folder of node n1 is older than its last state in the cluster: it has mark 1, " +
				"and the cluster mark 10: …"},
			{"node n1 marks=10b,11b", "1004 there are two copies of the data folder of node n1, which differ since " +
				"mark 10, and the other one was used last: …"},
			{"node n1 marks=11b,12b", "cluster c1"}, // the metadata is an older copy
			{"node n1 marks=7x,8b readmit", "cluster c1"},
			{"node n1 marks=12b,13b", "cluster c1"},
			{"node n1 marks=8b", "1004 the data folder of node n1 is older than its last state in the cluster: it has mark 8, " +
				"and the cluster mark 13: …"},
			{"raise lost", ""},
			{"node n1 marks=8b", "cluster c1"},
		}},
		{"ids are not given twice", [][2]string{
			{"bootstrap c1 shards=1", "cluster c1"},
			{"node n1", "cluster c1"},
			{"create a time:ts9!", "a=1 v1 @1 time:timestampnanosecond/1!"},
			{"raise table=57", ""},
			{"raise table=3", ""},
			{"create b time:ts9!", "b=58 v1 @1 time:timestampnanosecond/1!"},
			{"session 1", "session 1"},
			{"raise lost", ""},
			{"session 1", "session 1048578"},
			{"create c time:ts9!", "c=1048635 v1 @1 time:timestampnanosecond/1!"},
			{"op rebalance", "op 1048577 v1 rebalance running"},
			{"create-shard n1", "shard 2 v1 want1 [n1] learners[] founders[n1] removed[]"},
			{"change-shard 2 v=1 as=1048577 recovered=n1", "1006 Shard 2 has incarnation 1048577: a replica of " +
				"incarnation 1048577 is too old: the shard was recovered elsewhere"},
		}},
		{"founders that have founded", [][2]string{
			{"bootstrap c1 shards=2", "cluster c1"},
			{"node n1", "cluster c1"},
			{"node n2", "cluster c1"},
			{"create-shard n1,n2", "shard 3 v1 want2 [n1 n2] learners[] founders[n1 n2] removed[]"},
			{"found n1 1 2 3 9", ""},
			{"found n1 3", ""},
			{"found n9 3", ""},
			{"found n2 3 as=7", ""},
			{"change-shard 3 v=1 want=3", "shard 3 v2 want3 [n1 n2] learners[] founders[n1 n2] removed[] founded[n1]"},
			{"found n2 3", ""},
			{"change-shard 3 v=2 want=2", "shard 3 v3 want2 [n1 n2] learners[] founders[n1 n2] removed[] founded[n1 n2]"},
			{"change-shard 3 v=3 anew=n2", "shard 3 v4 want2 [n2] learners[] founders[n2] removed[]"},
		}},
		{"tables move and spread", [][2]string{
			{"bootstrap c1 shards=3", "cluster c1"},
			{"create a time:ts9! append_mode=true", "a=1 v1 @2 time:timestampnanosecond/1! append_mode=true"},
			{"create m time:ts9! k:string#", "m=2 v1 @3 time:timestampnanosecond/1! k:string/2#"},
			{
				"place 1 epoch=2 shards=2",
				"5001 Table `a` is in epoch 1 and not 2: it was placed again meanwhile; read the table again",
			},
			{"place 1 epoch=1 shards=9", "4005 Table `a` cannot be placed on shard 9: there is no such shard"},
			{"place 9 epoch=1 shards=1", "4001 Table 9 not found; it may have been dropped"},
			{"place 1 epoch=1 shards=3,3", "1004 Place table 1: shard 3 is given twice"},
			{"place 1 epoch=1 shards=3,2", "a=1 v2 @2 @3+2 time:timestampnanosecond/1! append_mode=true"},
			{"place 1 epoch=1 shards=3,2", "a=1 v2 @2 @3+2 time:timestampnanosecond/1! append_mode=true"},
			{"place 1 epoch=2 shards=3,2", "a=1 v2 @2 @3+2 time:timestampnanosecond/1! append_mode=true"},
			{"place 2 epoch=1 shards=1,2", "1004 Table `m` merges rows of the same identity (append_mode is not " +
				"true): it moves to other shards only by a handoff, together with its rows"},
			// The loads are now 0, 1 and 2.
			{"ensure x time:ts9! | y time:ts9! | z time:ts9!", "x=3 v1 @1 time:timestampnanosecond/1! " +
				"append_mode=true; y=4 v1 @2 time:timestampnanosecond/1! append_mode=true; z=5 v1 @1 " +
				"time:timestampnanosecond/1! append_mode=true"},
			{"truncate a", "a=6 v2 @3+2 time:timestampnanosecond/1! append_mode=true; dropped [1]"},
			{"drop a", "dropped [6]"},
		}},
		{"tables that merge are handed over", [][2]string{
			{"bootstrap c1 shards=3", "cluster c1"},
			{"create m time:ts9! k:string#", "m=1 v1 @3 time:timestampnanosecond/1! k:string/2#"},
			{"place 1 epoch=1 step=close copy=2", "5001 Table `m`: handoff 2 is not the current one; read the table again"},
			{"place 1 epoch=1 step=begin shards=9", "4005 Table `m` cannot be placed on shard 9: there is no such shard"},
			{"place 1 epoch=1 step=begin", "1004 Place table 1 on 0 shards: 1 to 256 are possible"},
			{"place 1 epoch=1 step=begin shards=2,3", "m=1 v2 @3 copy2 time:timestampnanosecond/1! k:string/2#"},
			{"place 1 epoch=1 step=begin shards=2,3", "m=1 v3 @3 copy3 time:timestampnanosecond/1! k:string/2#; dropped [2]"},
			{
				"place 1 epoch=1 step=finish copy=3",
				"1006 Table `m` still takes writes: it cannot be handed over before it is closed",
			},
			{"place 1 epoch=1 step=close copy=2", "5001 Table `m`: handoff 2 is not the current one; read the table again"},
			{"place 1 epoch=1 step=close copy=3", "m=1 v4 @3 @3closed copy3 time:timestampnanosecond/1! k:string/2#"},
			{"place 1 epoch=2 step=begin shards=2", "1006 Table `m` is closed: cancel the running handoff first"},
			{"place 1 epoch=2 step=give_up copy=3", "m=1 v5 @3 time:timestampnanosecond/1! k:string/2#; dropped [3]"},
			{"place 1 epoch=3 step=begin shards=2,3", "m=1 v6 @3 copy4 time:timestampnanosecond/1! k:string/2#"},
			{"place 1 epoch=3 step=close copy=4", "m=1 v7 @3 @3closed copy4 time:timestampnanosecond/1! k:string/2#"},
			{"ensure m time:ts9! x:float64", "m=1 v8 @3 @3closed copy4 time:timestampnanosecond/1! k:string/2# x:float64/3"},
			{
				"place 1 epoch=4 step=finish copy=4 shards=2",
				"1004 Place table 1: the shards of a handoff are given when it begins",
			},
			{
				"place 1 epoch=4 step=finish copy=4",
				"m=4 v9 @3handed @2+3 time:timestampnanosecond/1! k:string/2# x:float64/3; dropped [1]",
			},
			{"place 1 epoch=4 step=finish copy=4", "4001 Table 1 not found; it may have been dropped, or handed over"},
			{
				"place 4 epoch=5 step=begin shards=1",
				"m=4 v10 @3handed @2+3 copy5 time:timestampnanosecond/1! k:string/2# x:float64/3",
			},
			{"truncate m", "m=6 v10 @2+3 time:timestampnanosecond/1! k:string/2# x:float64/3; dropped [5 4]"},
			{"place 6 epoch=5 step=begin shards=1", "m=6 v11 @2+3 copy7 time:timestampnanosecond/1! k:string/2# x:float64/3"},
			{
				"place 6 epoch=5 step=close copy=7",
				"m=6 v12 @2+3 @2closed+3 copy7 time:timestampnanosecond/1! k:string/2# x:float64/3",
			},
			{"drop m", "dropped [7 6]"},
		}},
		{"a copy is abandoned if one of its shards was created again", [][2]string{
			{"bootstrap c1 shards=3", "cluster c1"},
			{"node n1", "cluster c1"},
			{"create m time:ts9! append_mode=false", "m=1 v1 @3 time:timestampnanosecond/1! append_mode=false"},
			{"place 1 epoch=1 step=begin shards=2", "m=1 v2 @3 copy2 time:timestampnanosecond/1! append_mode=false"},
			{"change-shard 2 v=0 anew=n1", "shard 2 v1 want1 [n1] learners[] founders[n1] " +
				"removed[]"}, // a shard that gets the rows
			{"place 1 epoch=1 step=close copy=2", "m=1 v3 @3 @3closed copy2 time:timestampnanosecond/1! append_mode=false"},
			{"place 1 epoch=2 step=finish copy=2", "m=1 v4 @3 time:timestampnanosecond/1! append_mode=false; dropped [2]"},
			{"place 1 epoch=3 step=begin shards=1,2", "m=1 v5 @3 copy3 time:timestampnanosecond/1! append_mode=false"},
			{"place 1 epoch=3 step=close copy=3", "m=1 v6 @3 @3closed copy3 time:timestampnanosecond/1! append_mode=false"},
			{"change-shard 3 v=0 as=2 recovered=n1", "shard 3 v1 want1 [n1] learners[] founders[n1] " +
				"removed[]"}, // a shard that has the rows
			{"place 1 epoch=4 step=finish copy=3", "m=1 v7 @3 time:timestampnanosecond/1! append_mode=false; dropped [3]"},
			{"place 1 epoch=5 step=begin shards=1,2", "m=1 v8 @3 copy4 time:timestampnanosecond/1! append_mode=false"},
			{"change-shard 2 v=1 want=1", "shard 2 v2 want1 [n1] learners[] founders[n1] removed[]"}, // loses nothing
			{"place 1 epoch=5 step=close copy=4", "m=1 v9 @3 @3closed copy4 time:timestampnanosecond/1! append_mode=false"},
			{
				"place 1 epoch=6 step=finish copy=4",
				"m=4 v10 @3handed @1+2 time:timestampnanosecond/1! append_mode=false; dropped [1]",
			},
		}},
		{"operations", [][2]string{
			{"bootstrap c1 shards=1", "cluster c1"},
			{"op shard-move shard=1", "op 1 v1 shard-move running"},
			{"op replica-repair shard=1", "1004 Operation replica-repair cannot be started while operation 1 " +
				"(shard-move) of the same shard 1 runs; wait for it, or cancel it"},
			{"op replica-repair shard=1 parent=1", "op 2 v1 replica-repair running"},
			{"op node-drain node=n1", "op 3 v1 node-drain running"},
			{"op node-decommission node=n1", "1004 Operation node-decommission cannot be started while operation 3 " +
				"(node-drain) of the same node n1 runs; wait for it, or cancel it"},
			{"op table-move table=5", "op 4 v1 table-move running"},
			{"op table-partition table=5", "1004 Operation table-partition cannot be started while operation 4 " +
				"(table-move) of the same table 5 runs; wait for it, or cancel it"},
			{"op rebalance", "op 5 v1 rebalance running"},
			{"op rebalance", "1004 Operation rebalance cannot be started while operation 5 (rebalance) of the same " +
				"cluster runs; wait for it, or cancel it"},
			{
				"op shard-move id=1 v=2 shard=1",
				"5001 Operation 1 has version 1 and not 2: it was changed meanwhile; read it again",
			},
			{"op shard-move id=9 v=2 shard=1", "1004 Operation 9 not found; it may have been forgotten"},
			{"op replica-repair id=2 v=1 shard=1 state=done parent=1", "op 2 v2 replica-repair done"},
			{"op shard-move id=1 v=1 shard=1 state=done", "op 1 v2 shard-move done"},
			{"op shard-move id=1 v=2 shard=1", "1004 Operation 1 has ended and cannot be changed any more"},
			{"op replica-repair shard=1", "op 6 v1 replica-repair running"},
			{"op x state=unspecified", "1004 Put operation x: OPERATION_STATE_UNSPECIFIED is not a state"},
			{"drop-ops 1", ""},
			{"op replica-repair id=2 v=2", "1004 Operation 2 not found; it may have been forgotten"},
			{"op shard-move id=1 v=2 shard=1", "1004 Operation 1 has ended and cannot be changed any more"},
		}},
		{"versions", [][2]string{
			{"bootstrap c1 shards=1 version=1", "cluster c1"},
			{"node n1 max=1", "cluster c1"},
			{"node n2 max=2", "cluster c1"},
			{
				fmt.Sprintf("version %d", metapb.MaxProtocol+1),
				fmt.Sprintf("1004 Set the cluster's version: this member understands protocol versions 1 to %d, "+
					"not %d;", metapb.MaxProtocol, metapb.MaxProtocol+1) + " start a program that does",
			},
			{"version 2", "1004 The cluster cannot use protocol version 2: node n1 () understands less; upgrade it, " +
				"or remove it if it is gone"},
			{"node n1 max=2", "cluster c1"},
			{"version 1", ""},
			{"version 2", ""},
			{"version 2", ""},
			{"version 1", "1004 The cluster uses protocol version 2, which cannot be lowered to 1"},
			{"node n3 max=1", "1004 Node n3 understands protocol versions 1 to 1, and cluster c1 uses version 2; " +
				"start a program that supports it"},
		}},
		{"bootstrap without a node", [][2]string{
			{"bootstrap c1 shards=1 no-node version=1", "1004 Bootstrap without a node needs protocol version 2, and " +
				"a founder understands 1 at most; start newer programs"},
			{"bootstrap c1 shards=1 no-node replication=8", "1004 A shard with 8 replicas: 1 to 7 are possible"},
		}},
		{"settings", [][2]string{
			{"bootstrap c1 shards=2 no-node replication=3", "cluster c1"},
			{"settings replication=1 initial=1 paused=true", ""},
			{"settings replication=8", "1004 A shard with 8 replicas: 1 to 7 are possible"},
		}},
		{"proposals that come twice", [][2]string{
			{"bootstrap c1 shards=1", "cluster c1"},
			{"#a create t time:ts9! append_mode=true", "t=1 v1 @1 time:timestampnanosecond/1! append_mode=true"},
			{"#a create t time:ts9! append_mode=true", "t=1 v1 @1 time:timestampnanosecond/1! append_mode=true"},
			{"#b create t time:ts9! append_mode=true", "4000 Table `t` already exists"},
			{"#c session n1", "session 1"},
			{"#c session n1", "session 1"},
			{"#d session n1", "session 2"},
			{"#e drop t", "dropped [1]"},
			{"#e drop t", "dropped [1]"},
			{"#a create t time:ts9! append_mode=true", "4010 Table 1 was dropped meanwhile; try again"},
			// a refusal is not remembered
			{"#b create t time:ts9! append_mode=true", "t=2 v1 @1 time:timestampnanosecond/1! append_mode=true"},
			{"#f add-column t c:string", "t=2 v2 @1 time:timestampnanosecond/1! c:string/2 append_mode=true"},
			{"#g drop-column t c", "t=2 v3 min3 @1 time:timestampnanosecond/1! append_mode=true"},
			{"#f add-column t c:string", "t=2 v3 min3 @1 time:timestampnanosecond/1! append_mode=true"},
			{"#h put p text", "p@15000000000 yaml 4"},
			{"#h put p text", "p@15000000000 yaml 4"},
			{"node n1", "cluster c1"},
			{"#i create-shard n1", "shard 2 v1 want1 [n1] learners[] founders[n1] removed[]"},
			{"#i create-shard n1", "shard 2 v1 want1 [n1] learners[] founders[n1] removed[]"},
			{"#j op shard-move shard=1", "op 1 v1 shard-move running"},
			{"#j op shard-move shard=1", "op 1 v1 shard-move running"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRunner(t)
			for _, step := range tt.steps {
				if got := r.do(step[0]); !matches(step[1], got) {
					t.Errorf("%s:\n got  %s\n want %s", step[0], got, step[1])
				}
			}
		})
	}
}

// TestProposalsAreForgotten checks that the number of remembered proposals is limited, and that the
// oldest are forgotten first.
func TestProposalsAreForgotten(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	const more = 20
	var entries []replica.Entry
	for i := range 8192 + more {
		e, refusal := r.entry(fmt.Sprintf("#%d session n1", i))
		if refusal != nil {
			t.Fatal(describe(refusal))
		}
		entries = append(entries, e)
	}
	for i := 0; i < len(entries); i += 1000 {
		r.machine.ApplyBatch(entries[i:min(i+1000, len(entries))])
	}
	if got := r.do(fmt.Sprintf("#%d session n1", more)); got != fmt.Sprintf("session %d", more+1) {
		t.Errorf("the oldest proposal that should be remembered is answered %s", got)
	}
	if got := r.do(fmt.Sprintf("#%d session n1", more-1)); got != fmt.Sprintf("session %d", 8192+more+1) {
		t.Errorf("the newest proposal that should be forgotten is answered %s", got)
	}
	sound(t, r)
}

// sound checks the state's file against its digest.
func sound(t *testing.T, r *runner) {
	t.Helper()
	path := r.machine.catalog.Path()
	if err := r.machine.catalog.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Check(path); err != nil {
		t.Error(err)
	}
}

// TestFormatIsRaisedWhenNeeded checks that a file stays readable for older programs until something
// is stored that they do not know.
func TestFormatIsRaisedWhenNeeded(t *testing.T) {
	r := newRunner(t)
	format := func() (v uint64) {
		if err := r.machine.catalog.View(func(tx *catalog.Tx) error { v = tx.Format(); return nil }); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, line := range []string{"bootstrap c1 shards=1 version=1", "node n1", "ensure t time:ts9!", "version 2"} {
		if got := r.do(line); strings.HasPrefix(got, "1004") {
			t.Fatalf("%s: %s", line, got)
		}
	}
	if v := format(); v != 2 {
		t.Errorf("format is %d, want 2", v)
	}
	r.do("op rebalance")
	if v := format(); v != 3 {
		t.Errorf("format is %d, want 3", v)
	}
	sound(t, r)
}

// TestVersionOfTheFutureHalts checks that a member halts if it does not understand the version that
// the cluster starts to use.
func TestVersionOfTheFutureHalts(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	r.do(fmt.Sprintf("node n1 max=%d", metapb.MaxProtocol+1))
	cmd := command(t, fmt.Sprintf("version %d", metapb.MaxProtocol+1))
	got := r.raw(cmd)
	err, ok := got.(error)
	if !ok || !strings.Contains(err.Error(), "halted") ||
		!strings.Contains(err.Error(), fmt.Sprintf("the cluster uses protocol version %d", metapb.MaxProtocol+1)) {
		t.Errorf("got %v, want a halt that names the version", got)
	}
	// If another node does not understand it either, all members refuse the command.
	r = newRunner(t)
	r.do("bootstrap c1 shards=1")
	r.do("node n1")
	if got, ok := r.raw(cmd).(*metapb.Result); !ok || got.ErrorCode == 0 {
		t.Errorf("got %v, want a refusal", got)
	}
}
