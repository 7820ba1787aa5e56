// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	fakemidonet "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// settled waits until the Translations are those of the objects that there are, all of them are synced, and the backend has exactly
// what they specify.
func (n *network) settled() {
	n.t.Helper()
	eventually(n.t, n.unsettled)
}

// unsettled returns what is not yet as settled expects it.
func (n *network) unsettled(ctx context.Context) error {
	translations, err := n.translations(ctx)
	if err != nil {
		return err
	}
	wanted, err := n.wanted(ctx)
	if err != nil {
		return err
	}
	for i := range translations {
		t := &translations[i]
		key := client.ObjectKeyFromObject(t)
		if want, ok := wanted[key]; !ok {
			return fmt.Errorf("nothing requires translation %s", key)
		} else if !reflect.DeepEqual(t.Resources, want.Resources) {
			return fmt.Errorf("translation %s: got %v, want %v", key, t.Resources, want.Resources)
		}
		delete(wanted, key)
		if err := notSynced(t); err != nil {
			return err
		}
	}
	for key := range wanted {
		return fmt.Errorf("translation %s is missing", key)
	}
	return n.exact(ctx, translations)
}

// wanted returns the Translations of all objects, as the converters make them.
func (n *network) wanted(ctx context.Context) (map[client.ObjectKey]midonetv1.Translation, error) {
	config := convert.Config{Tenant: "midonetkube", TunnelZoneName: "DefaultTunnelZone",
		ServiceTypes: []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer}}
	nodes, pods, services, endpoints := &corev1.NodeList{}, &corev1.PodList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	for _, list := range []client.ObjectList{nodes, pods, services, endpoints} {
		if err := n.c.List(ctx, list); err != nil {
			return nil, err
		}
	}
	results := []convert.Result{convert.Globals(config)}
	byName := map[string]*corev1.Node{}
	for i := range nodes.Items {
		byName[nodes.Items[i].Name] = &nodes.Items[i]
		results = append(results, convert.Node(&nodes.Items[i], config))
	}
	for i := range pods.Items {
		results = append(results, convert.Pod(&pods.Items[i], byName[pods.Items[i].Spec.NodeName], config))
	}
	for i := range services.Items {
		service := &services.Items[i]
		var slices []*discoveryv1.EndpointSlice
		for j := range endpoints.Items {
			if s := &endpoints.Items[j]; s.Namespace == service.Namespace && s.Labels[discoveryv1.LabelServiceName] == service.Name {
				slices = append(slices, s)
			}
		}
		results = append(results, convert.Service(service, config), convert.Endpoints(service, slices, config))
	}
	wanted := map[client.ObjectKey]midonetv1.Translation{}
	for _, result := range results {
		for _, t := range result.Translations {
			wanted[client.ObjectKeyFromObject(&t)] = t
		}
	}
	return wanted, nil
}

// exact complains when the backend has not exactly what the Translations list: each resource with the fields of its
// body, rules in the reverse order of the list, and nothing else.
func (n *network) exact(ctx context.Context, translations []midonetv1.Translation) error {
	var content []fakemidonet.Item
	if err := n.request(ctx, http.MethodGet, "content", nil, &content); err != nil {
		return err
	}
	have := map[string]map[string]any{} // by kind and id, with the parent if it is part of the name
	place := map[string]int{}
	for _, item := range content {
		if item.Kind == "Host" || item.Kind == "Route" && item.Body["type"] == "Local" {
			continue // hosts are not owned by Groundskeeper, and the router makes its local routes itself
		}
		key := item.Kind + " " + item.ID
		if item.Kind == "TunnelZoneHost" || item.Kind == "MACPort" || item.Kind == "IPv4MACPair" {
			key += " in " + item.Parent
		}
		if have[key] != nil {
			return fmt.Errorf("%s is there twice", key)
		}
		have[key] = item.Body
		place[item.ID] = len(place)
	}
	ends, bindings := 0, 0 // a link has two endpoints
	seen := map[string]bool{}
	var errs []error
	for _, t := range translations {
		last := map[string]string{} // the rule that was listed last, by chain
		for _, r := range t.Resources {
			var body map[string]any
			if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
				return err
			}
			text := func(field string) string { s, _ := body[field].(string); return s }
			dashes := strings.NewReplacer(":", "-")
			key := r.Kind + " " + text("id")
			switch r.Kind {
			case "PortLink":
				ends += 2
				key, body = "Port "+r.Parent, map[string]any{"peerId": body["peerId"]}
			case "HostInterfacePort":
				bindings++
				key, body = "Port "+text("portId"), map[string]any{"hostId": r.Parent, "interfaceName": body["interfaceName"]}
			case "TunnelZoneHost":
				key = r.Kind + " " + text("hostId") + " in " + r.Parent
			case "MACPort":
				key = r.Kind + " " + dashes.Replace(text("macAddr")) + "_" + text("portId") + " in " + r.Parent
			case "IPv4MACPair":
				key = r.Kind + " " + text("ip") + "_" + dashes.Replace(text("mac")) + " in " + r.Parent
			case "Rule":
				if before := last[r.Parent]; before != "" && place[text("id")] > place[before] {
					errs = append(errs, fmt.Errorf("rule %s of %s stands behind %s, which is listed before it", text("id"), t.Name, before))
				}
				last[r.Parent] = text("id")
			}
			seen[key] = true
			got, ok := have[key]
			if !ok {
				errs = append(errs, fmt.Errorf("%s of %s is missing", key, t.Name))
				continue
			}
			for field, value := range body {
				if value != nil && !reflect.DeepEqual(got[field], value) {
					errs = append(errs, fmt.Errorf("%s of %s: %s is %v, want %v", key, t.Name, field, got[field], value))
				}
			}
		}
	}
	for key, body := range have {
		if !seen[key] {
			errs = append(errs, fmt.Errorf("%s is there, and no client wants it: %v", key, body))
		}
		if host, _ := body["hostId"].(string); host != "" && strings.HasPrefix(key, "Port ") {
			bindings--
		}
		if peer, _ := body["peerId"].(string); peer != "" {
			ends--
		}
	}
	if bindings != 0 || ends != 0 {
		errs = append(errs, fmt.Errorf("%d bindings and %d ends of links too few", bindings, ends))
	}
	return errors.Join(errs...)
}
