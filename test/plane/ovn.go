// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"fmt"
	"os"
	"path/filepath"

	"groundskeeper.io/groundskeeper/test/ovnserver"
)

const ovnName = "localovn"

// mostOfSocket is how long the path of a socket may be.
const mostOfSocket = 107

// ovnControllers are those of kube-controller-manager that Services need.
var ovnControllers = []string{"endpointslice-controller"}

// OVNDirectory returns the directory of the files of OVN: bin with its tools, and pods/NAMESPACE/NAME and nodes/NAME, which are network
// namespaces.
func (p *Plane) OVNDirectory() string { return ovnDirectory(p.dir) }

func ovnDirectory(dir string) string { return filepath.Join(dir, "ovn") }

// OVNNodes returns the names of the Nodes of a plane with OVN.
func OVNNodes() []string { return []string{"node-a", "node-b"} }

// OVNPage returns the page on which OVN shows its databases, Nodes and Pods.
func (p *Plane) OVNPage() string { return ovnPage(address(p.ports[ovnName])) }

func ovnPage(address string) string { return "http://" + address + "/" }

func ovnEndpoint(dir, database string) string {
	return "unix:" + filepath.Join(ovnDirectory(dir), database+".sock")
}

// checkOVN reports why OVN could not run.
func (o Options) checkOVN() error {
	schema := ovnserver.NewInstallation("").Schema("nb")
	if _, err := os.Stat(schema); err != nil {
		return fmt.Errorf("OVN is not installed: \"make up OVN=real\" unpacks it, and otherwise %s names where it is: %w", ovnserver.RootVariable, err)
	}
	if socket := filepath.Join(ovnDirectory(o.Dir), "nb.sock"); len(socket) > mostOfSocket {
		return fmt.Errorf("the path of a socket has at most %d bytes, %s has %d: choose a shorter directory (Options.Dir)", mostOfSocket, socket, len(socket))
	}
	return nil
}

// ovnCommand returns OVN with its nodes. Its databases are new whenever it starts.
func (p *Plane) ovnCommand() (command, error) {
	address := address(p.ports[ovnName])
	return command{
		name:    ovnName,
		binary:  p.binary(ovnName),
		args:    []string{"--directory=" + p.OVNDirectory(), "--address=" + address, "--kubeconfig=" + p.AdminKubeconfig()},
		env:     []string{ovnserver.RootVariable + "=" + os.Getenv(ovnserver.RootVariable)},
		inputs:  []string{p.AdminKubeconfig()},
		address: address,
		health:  ovnPage(address),
	}, nil
}

// ovnAddition leads a controller manager to OVN.
func (p *Plane) ovnAddition() addition {
	return addition{option: "OVN", path: []string{"controllers", "translation", "ovn"}, fields: map[string]any{
		"endpoints": []any{ovnEndpoint(p.dir, "nb")}, "southboundEndpoints": []any{ovnEndpoint(p.dir, "sb")},
	}}
}
