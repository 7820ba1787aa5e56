// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// row has the columns of OVN's rows that a way consists of.
type row struct {
	ID        string
	Name      string
	Protocol  string
	Vips      map[string]string
	Addresses []string
	Options   map[string]string
	Owners    struct {
		Owner string
	} `json:"external_ids"`
}

// rowsOf calls a function with the rows of a kind in Translations.
func rowsOf(translations []midonetv1.Translation, kind string, use func(t *midonetv1.Translation, parent string, body row)) {
	for i := range translations {
		for _, listed := range translations[i].Resources {
			var body row
			if listed.Kind == kind && json.Unmarshal([]byte(listed.Body), &body) == nil {
				use(&translations[i], listed.Parent, body)
			}
		}
	}
}

// portsOf returns the ports of Pods and Nodes in OVN, by their addresses, in those Translations of which an owner is one; nil for all. A switch
// that is not in the Translations has the name that is given.
func portsOf(translations []midonetv1.Translation, owner client.Object, node string) (all []report.WayEnd) {
	switches := map[string]string{}
	rowsOf(translations, "LogicalSwitch", func(_ *midonetv1.Translation, _ string, body row) { switches[body.ID] = body.Name })
	rowsOf(translations, "LogicalSwitchPort", func(t *midonetv1.Translation, parent string, body row) {
		chassis := body.Options["requested-chassis"]
		if chassis == "" || owner != nil && !isOf(t, owner) {
			return // to a router
		}
		end := report.WayEnd{Port: body.Name, Object: body.Owners.Owner, Switch: cmp.Or(switches[parent], node, parent), Chassis: chassis, Problem: unrealized(t)}
		if c := meta.FindStatusCondition(t.Status.Conditions, midonetv1.ConditionRealized); c != nil {
			end.Realized = string(c.Status)
		}
		for _, addresses := range body.Addresses {
			if _, after, ok := strings.Cut(addresses, " "); ok { // the MAC address precedes them
				end.Address = after
				all = append(all, end)
			}
		}
	})
	return all
}

// waysOf returns the ways of a Service through the load balancers of OVN, by the Translations.
func waysOf(service *corev1.Service, translations []midonetv1.Translation) []report.Way {
	ports := map[string]report.WayEnd{}
	for _, end := range portsOf(translations, nil, "") {
		for _, address := range strings.Fields(end.Address) {
			ports[address] = end
		}
	}
	var ways []report.Way
	rowsOf(translations, "LoadBalancer", func(t *midonetv1.Translation, _ string, balancer row) {
		if !isOf(t, service) {
			return
		}
		for _, address := range slices.Sorted(maps.Keys(balancer.Vips)) {
			way := report.Way{Address: shownAddress(address), Protocol: balancer.Protocol, LoadBalancer: balancer.Name, Endpoints: []report.WayEnd{}}
			for text := range strings.SplitSeq(balancer.Vips[address], ",") {
				endpoint, err := netip.ParseAddrPort(text)
				if err != nil {
					continue // it has none
				}
				end := ports[endpoint.Addr().String()]
				end.Address = text
				way.Endpoints = append(way.Endpoints, end)
			}
			ways = append(ways, way)
		}
	})
	return ways
}

// isolate adds to the ports of Pods in a namespace the NetworkPolicies that isolate them. The Pods are read if they are not given. A user
// may not be allowed to read policies.
func (c *command) isolate(ctx context.Context, namespace string, pods []corev1.Pod, ends []*report.WayEnd, r *report.Report) error {
	if len(ends) == 0 {
		return nil
	}
	read := func(list client.ObjectList, what string) (bool, error) {
		err := c.client.List(ctx, list, client.InNamespace(namespace))
		if apierrors.IsForbidden(err) {
			r.Checked = append(r.Checked, report.Checked{Name: what, Unread: report.OneLine(err.Error())})
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("list %s in namespace %s: %w", what, namespace, err)
		}
		return true, nil
	}
	policies := &networkingv1.NetworkPolicyList{}
	if ok, err := read(policies, "NetworkPolicies"); !ok {
		return err
	}
	if len(policies.Items) > 0 && pods == nil {
		list := &corev1.PodList{}
		if ok, err := read(list, "Pods"); !ok {
			return err
		}
		pods = list.Items
	}
	r.NotChecked = strings.Replace(r.NotChecked, notCheckedPolicies, "", 1)
	slices.SortFunc(policies.Items, func(a, b networkingv1.NetworkPolicy) int { return cmp.Compare(a.Name, b.Name) })
	for i := range policies.Items {
		policy := convert.ReadPolicy(&policies.Items[i])
		for k := range pods {
			for _, end := range ends {
				if end.Object != "Pod "+namespace+"/"+pods[k].Name || !policy.Isolates(&pods[k]) {
					continue
				}
				if policy.Ingress {
					end.IngressPolicies = append(end.IngressPolicies, policy.Name)
				}
				if policy.Egress {
					end.EgressPolicies = append(end.EgressPolicies, policy.Name)
				}
			}
		}
	}
	return nil
}

func (c *command) printWays(ways []report.Way) {
	for _, way := range ways {
		c.out.print("%s/%s, load balancer %s:\n", way.Address, way.Protocol, way.LoadBalancer)
		if len(way.Endpoints) == 0 {
			c.out.print("  no endpoint: connections are rejected\n")
		}
		for _, e := range way.Endpoints {
			if e.Port == "" {
				c.out.print("  %s\n", e.Address)
				continue
			}
			c.printEnd("  ", e)
		}
	}
}

// printEnd prints a port, and the policies that may drop its connections.
func (c *command) printEnd(indent string, e report.WayEnd) {
	realized := map[string]string{"True": ", Realized", "False": ", not Realized"}[e.Realized]
	c.out.print("%s%s  %s, port %s of switch %s, chassis %s%s\n", indent, e.Address, e.Object, e.Port, e.Switch, e.Chassis, realized)
	for _, isolated := range []struct {
		what     string
		policies []string
	}{{"to", e.IngressPolicies}, {"from", e.EgressPolicies}} {
		if len(isolated.policies) > 0 {
			c.out.print("%s  connections %s it are dropped unless allowed by NetworkPolicy %s\n", indent, isolated.what, strings.Join(isolated.policies, ", "))
		}
	}
}
