// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// pod is the interface of a Pod.
type pod struct {
	config config
	input  []byte
	// namespace is the file of the Pod's network namespace, and inside the name of its interface there. host is the other end.
	namespace, inside, host string
	// port is the name of the logical port, and sandbox the id of the Pod's sandbox.
	port, sandbox string
}

// podOf reads the parameters of a call.
func podOf(environment func(string) string, c config) (*pod, error) {
	p := &pod{config: c, namespace: environment("CNI_NETNS"), inside: environment("CNI_IFNAME"), sandbox: environment("CNI_CONTAINERID")}
	arguments := map[string]string{}
	for pair := range strings.SplitSeq(environment("CNI_ARGS"), ";") {
		name, value, _ := strings.Cut(pair, "=")
		arguments[name] = value
	}
	namespace, name := arguments["K8S_POD_NAMESPACE"], arguments["K8S_POD_NAME"]
	for _, parameter := range [][2]string{
		{"CNI_CONTAINERID", p.sandbox}, {"CNI_IFNAME", p.inside},
		{"K8S_POD_NAMESPACE in CNI_ARGS", namespace}, {"K8S_POD_NAME in CNI_ARGS", name},
	} {
		if parameter[1] == "" {
			return nil, fmt.Errorf("%s is missing", parameter[0])
		}
	}
	sum := sha256.Sum256([]byte(p.sandbox + "/" + p.inside))
	p.host, p.port = "gk"+hex.EncodeToString(sum[:])[:13], namespace+"_"+name
	if p.config.Tenant != "" {
		p.port = p.config.Tenant + "_" + p.port
	}
	return p, nil
}

// result is the part of the result of an ADD that is read here, as the specification has it.
type result struct {
	CNIVersion string            `json:"cniVersion"`
	Interfaces []link            `json:"interfaces"`
	IPs        []assigned        `json:"ips"`
	Routes     []json.RawMessage `json:"routes,omitempty"`
	DNS        json.RawMessage   `json:"dns,omitempty"`
}

type link struct {
	Name    string `json:"name"`
	MAC     string `json:"mac,omitempty"`
	Sandbox string `json:"sandbox,omitempty"`
}

type assigned struct {
	Address   netip.Prefix `json:"address"`
	Gateway   *netip.Addr  `json:"gateway,omitempty"`
	Interface *int         `json:"interface,omitempty"`
}

// add connects a Pod. It does not wait for the logical port: that is created when the Pod has an address, after this call.
func (p *pod) add(ctx context.Context) (*result, error) {
	output, err := p.ipam(ctx, "ADD")
	if err != nil {
		return nil, err
	}
	made := &result{}
	if err := json.Unmarshal(output, made); err != nil {
		return nil, fmt.Errorf("read the result of %s: %w", p.config.IPAM.Type, err)
	}
	if len(made.IPs) == 0 {
		return nil, fmt.Errorf("%s assigned no address", p.config.IPAM.Type)
	}
	mac := macOf(made.IPs)
	steps := [][]string{
		{"ip", "link", "add", p.host, "mtu", strconv.Itoa(p.config.MTU), "type", "veth",
			"peer", "name", p.inside, "mtu", strconv.Itoa(p.config.MTU), "address", mac, "netns", p.namespace},
		{"ip", "link", "set", p.host, "up"},
		p.within("link", "set", "lo", "up"),
		p.within("link", "set", p.inside, "up"),
	}
	for i, ip := range made.IPs {
		made.IPs[i].Interface = new(1)
		family, address := "-4", []string{"address", "add", ip.Address.String(), "dev", p.inside}
		if ip.Address.Addr().Is6() {
			family, address = "-6", append(address, "nodad") // the address is assigned once
		}
		steps = append(steps, p.within(address...))
		if ip.Gateway != nil {
			steps = append(steps, p.within(family, "route", "add", "default", "via", ip.Gateway.String(), "dev", p.inside))
		}
	}
	steps = append(steps, p.vsctl("--may-exist", "add-port", p.config.Bridge, p.host, "--", "set", "Interface", p.host,
		"external_ids:iface-id="+p.port, "external_ids:attached-mac="+strconv.Quote(mac), "external_ids:sandbox="+p.sandbox))
	for _, step := range steps {
		if _, err := execute(ctx, step...); err != nil {
			return nil, err
		}
	}
	made.CNIVersion = p.config.CNIVersion
	made.Interfaces = []link{{Name: p.host}, {Name: p.inside, MAC: mac, Sandbox: p.namespace}}
	return made, nil
}

// macOf derives the MAC address of an interface as the logical port has it: from the first IPv4 address, or else from the IPv6 address.
func macOf(assigned []assigned) string {
	first := assigned[0].Address.Addr()
	for _, ip := range assigned {
		if address := ip.Address.Addr(); address.Compare(first) < 0 { // IPv4 is before IPv6
			first = address
		}
	}
	octets := first.AsSlice()
	if first.Is6() {
		sum := sha256.Sum256([]byte(first.String()))
		octets = sum[:]
	}
	return fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", octets[0], octets[1], octets[2], octets[3])
}

// check fails if the Pod is not connected.
func (p *pod) check(ctx context.Context) error {
	port, err := execute(ctx, p.vsctl("get", "Interface", p.host, "external_ids:iface-id")...)
	if err != nil {
		return err
	}
	if got := strings.Trim(strings.TrimSpace(string(port)), `"`); got != p.port {
		return fmt.Errorf("interface %s is connected to port %s, not to %s", p.host, got, p.port)
	}
	_, err = p.ipam(ctx, "CHECK")
	return err
}

// remove disconnects a Pod. What has been removed already is no error.
func (p *pod) remove(ctx context.Context) error {
	_, unplugged := execute(ctx, p.vsctl("--if-exists", "del-port", p.config.Bridge, p.host)...)
	var deleted error
	if _, err := net.InterfaceByName(p.host); err == nil {
		_, deleted = execute(ctx, "ip", "link", "delete", p.host)
	}
	_, released := p.ipam(ctx, "DEL")
	return errors.Join(unplugged, deleted, released)
}

// ipam calls the IPAM plugin with the same parameters and configuration.
func (p *pod) ipam(ctx context.Context, command string) ([]byte, error) {
	for _, directory := range filepath.SplitList(os.Getenv("CNI_PATH")) {
		path := filepath.Join(directory, p.config.IPAM.Type)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		called := exec.CommandContext(ctx, path)
		called.Env, called.Stdin = append(os.Environ(), "CNI_COMMAND="+command), bytes.NewReader(p.input)
		output, err := called.Output()
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w: %s", command, p.config.IPAM.Type, err, bytes.TrimSpace(output))
		}
		return output, nil
	}
	return nil, fmt.Errorf("plugin %s is not in CNI_PATH", p.config.IPAM.Type)
}

// within returns a call of ip in the namespace of the Pod.
func (p *pod) within(arguments ...string) []string {
	return append([]string{"nsenter", "--net=" + p.namespace, "ip"}, arguments...)
}

// vsctl returns a call of ovs-vsctl. It does not wait for ovs-vswitchd, which may be restarting.
func (p *pod) vsctl(arguments ...string) []string {
	return append([]string{"ovs-vsctl", "--db=" + p.config.Database, "--timeout=30", "--no-wait"}, arguments...)
}

// execute runs a program.
func execute(ctx context.Context, command ...string) ([]byte, error) {
	output, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, bytes.TrimSpace(output))
	}
	return output, nil
}
