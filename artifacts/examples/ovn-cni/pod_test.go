// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// The MAC address is the one that the port of the Pod gets.
func TestMAC(t *testing.T) {
	of := func(addresses ...string) []assigned {
		var all []assigned
		for _, address := range addresses {
			all = append(all, assigned{Address: netip.MustParsePrefix(address)})
		}
		return all
	}
	for want, ips := range map[string][]assigned{
		"0a:58:0a:01:00:05": of("fd01::5/64", "10.1.0.5/24"),
		"0a:58:17:c7:32:f6": of("fd01::5/64"),
	} {
		if got := macOf(ips); got != want {
			t.Errorf("MAC address of %v = %s, want %s", ips, got, want)
		}
	}
}

// What is missing is named.
func TestInput(t *testing.T) {
	complete := map[string]string{"CNI_CONTAINERID": "c", "CNI_IFNAME": "eth0", "CNI_ARGS": "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-0"}
	environment := func(change, value string) func(string) string {
		return func(name string) string {
			if name == change {
				return value
			}
			return complete[name]
		}
	}
	p, err := podOf(environment("", ""), config{})
	if err != nil || p.port != "shop_web-0" || len(p.host) > 15 {
		t.Errorf("pod = %+v, %v", p, err)
	}
	if p, err := podOf(environment("", ""), config{Tenant: "blue"}); err != nil || p.port != "blue_shop_web-0" {
		t.Errorf("pod of a tenant = %+v, %v", p, err)
	}
	for _, name := range []string{"CNI_CONTAINERID", "CNI_IFNAME", "CNI_ARGS"} {
		if _, err := podOf(environment(name, ""), config{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	for input, want := range map[string]string{"x": "read the configuration", "{}": "ipam.type", `{"ipam":{"type":"../x"}}`: "ipam.type"} {
		if _, err := run(t.Context(), "ADD", []byte(input), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("configuration %s: %v, want %s", input, err, want)
		}
	}
	var output bytes.Buffer
	if _, err := run(t.Context(), "VERSION", nil, &output); err != nil || !strings.Contains(output.String(), `"supportedVersions":["0.4.0","1.0.0"]`) {
		t.Errorf("VERSION: %s, %v", output.String(), err)
	}
}

// The example of a configuration is one.
func TestExample(t *testing.T) {
	data, err := os.ReadFile("10-ovn.conflist")
	if err != nil {
		t.Fatal(err)
	}
	_, plugins, _ := strings.Cut(string(data), "[\n")
	plugins, _, _ = strings.Cut(plugins, "\n  ]")
	if c, err := configOf([]byte(plugins)); err != nil || c.IPAM.Type != "host-local" || c.Bridge != "br-int" {
		t.Errorf("configuration = %+v, %v", c, err)
	}
}
