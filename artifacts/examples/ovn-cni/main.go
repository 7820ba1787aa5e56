// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command ovn-cni is an example of a CNI plugin for Translations on OVN: it connects a Pod to the integration bridge under the name of
// its logical port. It has no daemon and needs no credentials: addresses are those of an IPAM plugin, such as host-local, and the
// rest is in OVN. It runs ip, nsenter and ovs-vsctl.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// timeout ends a call of a plugin, below the one of the kubelet.
const timeout = time.Minute

// versions are those of the CNI specification that the plugin implements.
var versions = []string{"0.4.0", "1.0.0"}

// config is the configuration of the network that the runtime passes.
type config struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	// Bridge is the integration bridge, br-int if it is empty, and Database that of Open vSwitch.
	Bridge   string `json:"bridge"`
	Database string `json:"database"`
	// MTU is that of the Pods, 1400 if it is 0: a tunnel has to transport their packets.
	MTU int `json:"mtu"`
	// Tenant is that of the controller manager, if that has ovn.tenantInNames.
	Tenant string `json:"tenant"`
	IPAM   struct {
		Type string `json:"type"`
	} `json:"ipam"`
}

// failure is an error in the form of the specification.
type failure struct {
	CNIVersion string `json:"cniVersion"`
	Code       int    `json:"code"`
	Message    string `json:"msg"`
}

// Codes of failures.
const (
	codeEnvironment = 4
	codeConfig      = 6
	codeOther       = 100
)

func main() { os.Exit(call()) }

// call carries out the call of a runtime and returns the exit code.
func call() int {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	input, err := io.ReadAll(os.Stdin)
	code := codeOther
	if err == nil {
		code, err = run(ctx, os.Getenv("CNI_COMMAND"), input, os.Stdout)
	}
	if err == nil {
		return 0
	}
	_ = json.NewEncoder(os.Stdout).Encode(failure{CNIVersion: versions[len(versions)-1], Code: code, Message: err.Error()})
	return 1
}

// run carries out a command of the specification.
func run(ctx context.Context, command string, input []byte, output io.Writer) (int, error) {
	if command == "VERSION" {
		return 0, json.NewEncoder(output).Encode(map[string]any{"cniVersion": versions[len(versions)-1], "supportedVersions": versions})
	}
	c, err := configOf(input)
	if err != nil {
		return codeConfig, err
	}
	p, err := podOf(os.Getenv, c)
	if err != nil {
		return codeEnvironment, err
	}
	p.input = input
	switch command {
	case "ADD":
		result, err := p.add(ctx)
		if err != nil {
			return codeOther, errors.Join(err, p.remove(ctx)) // the runtime does not have to call DEL
		}
		return 0, json.NewEncoder(output).Encode(result)
	case "CHECK":
		return codeOther, p.check(ctx)
	case "DEL":
		return codeOther, p.remove(ctx)
	default:
		return codeEnvironment, fmt.Errorf("CNI_COMMAND is %q: it takes ADD, CHECK, DEL or VERSION", command)
	}
}

// configOf reads the configuration.
func configOf(input []byte) (config, error) {
	c := config{Bridge: "br-int", Database: "unix:/run/openvswitch/db.sock", MTU: 1400}
	if err := json.Unmarshal(input, &c); err != nil {
		return config{}, fmt.Errorf("read the configuration: %w", err)
	}
	if c.IPAM.Type == "" || c.IPAM.Type != filepath.Base(c.IPAM.Type) {
		return config{}, fmt.Errorf("ipam.type is %q: name an IPAM plugin, for instance host-local", c.IPAM.Type)
	}
	return c, nil
}
