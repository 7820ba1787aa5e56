// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	fakemidonet "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// deviceResources is how many resources newDevices lists: bridges, and hosts in one zone.
const deviceResources = 2*devices + 1

// addHosts makes the hosts that the ports of all Translations are bound to.
func (c *comparison) addHosts(ctx context.Context) error {
	for i := range devices {
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, c.MidoNetPages()+"hosts/"+hostName(i), nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("the fake of MidoNet takes no host: %s", response.Status)
		}
	}
	return nil
}

// newDevices returns the Translations of what the ports of all others need: a bridge each, and hosts in a tunnel zone.
func newDevices(space, tenant string) ([]*midonetv1.Translation, error) {
	zone := uuid(3, 0)
	network := newTranslation(space, "global.bench", 0, "0")
	network.Resources = nil
	all := []*midonetv1.Translation{network}
	add := func(t *midonetv1.Translation, kind, parent string, body any) error {
		text, err := json.Marshal(body)
		t.Resources = append(t.Resources, midonetv1.BackendResource{Kind: kind, Parent: parent, Body: string(text)})
		return err
	}
	if err := add(network, "TunnelZone", "", midonet.TunnelZone{ID: zone, Name: "bench", Type: "vxlan"}); err != nil {
		return nil, err
	}
	for i := range devices {
		bridge := newTranslation(space, fmt.Sprintf("node.4.bench-%d", i), i, "0")
		bridge.Resources = nil
		if err := add(bridge, "Bridge", "", midonet.Bridge{ID: bridgeID(i), TenantID: tenant, Name: hostName(i)}); err != nil {
			return nil, err
		}
		host := midonet.TunnelZoneHost{HostID: fakemidonet.HostID(hostName(i)), IPAddress: fmt.Sprintf("192.0.2.%d", i+1)}
		if err := add(network, "TunnelZoneHost", zone, host); err != nil {
			return nil, err
		}
		all = append(all, bridge)
	}
	return all, nil
}

// addDevices creates them.
func (c *comparison) addDevices(ctx context.Context, direct contender) error {
	space, err := c.space(ctx)
	if err != nil {
		return err
	}
	var config configv1alpha1.TranslationConfiguration
	configv1alpha1.SetDefaults_TranslationConfiguration(&config)
	all, err := newDevices(space, config.Tenant)
	if err != nil {
		return err
	}
	return direct.forAll(ctx, all, func(ctx context.Context, client *client, t *midonetv1.Translation) error {
		r, err := direct.create(t)
		if err != nil {
			return err
		}
		_, err = client.do(ctx, r)
		return err
	})
}
