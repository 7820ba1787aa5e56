// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"github.com/google/uuid"

	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// The kind of the Translations of the whole cluster.
const kindGlobal = "midonet-global"

// Globals returns what there is once per cluster: the tunnel zone that hosts are in, the router between the Nodes, and the chain
// that every bridge sends its traffic through. Before the services the chain undoes translations: a packet that responds to a
// translated one must not be taken for a new one.
func Globals(config Config) Result {
	ids := NewIDs(config.Tenant)
	main, pre, services := ids.mainChain(), ids.preChain(), ids.servicesChain()
	c := newCollector(Owner{})
	c.add(kindGlobal, "tunnel-zone",
		resource("TunnelZone", uuid.Nil, &midonet.TunnelZone{ID: ids.tunnelZone().String(), Name: config.TunnelZoneName, Type: "vxlan"}))
	c.add(kindGlobal, "cluster-router",
		resource("Router", uuid.Nil, &midonet.Router{ID: ids.clusterRouter().String(), TenantID: config.Tenant, Name: "ClusterRouter"}))
	// MidoNet puts a new rule at the head of its chain: the last one listed here is the first one there.
	c.add(kindGlobal, "chain",
		config.chain(main, "KUBE-MAIN"), config.chain(pre, "KUBE-PRE"), config.chain(services, "KUBE-SERVICES"),
		jump(main, SubID(main, "Jump To Services"), services),
		jump(main, SubID(main, "Jump To Pre"), pre),
		resource("Rule", pre, &midonet.Rule{
			ID: SubID(main, "Reverse DNAT").String(), Type: midonet.ReverseDNATRule, FlowAction: midonet.AcceptFlow,
		}),
		resource("Rule", pre, &midonet.Rule{
			ID: SubID(main, "Reverse SNAT").String(), Type: midonet.ReverseSNATRule, FlowAction: midonet.ContinueFlow,
		}))
	return c.done()
}
