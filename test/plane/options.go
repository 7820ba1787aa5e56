// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
)

// Options specify what a plane consists of. The zero value of all except Dir is the control plane alone.
type Options struct {
	// Dir is the directory of the plane: state, keys, data, logs. It is made when it does not exist.
	Dir string
	// BinDir is the directory of all binaries; empty: _output/bin of this repository.
	BinDir string
	// Artifacts is the directory of the manifests; empty: artifacts of this repository.
	Artifacts string

	// APIServers is how many of the Groundskeeper API servers to start. The APIServices lead to the first; the others are reached
	// directly (Plane.DirectConfig). More than one need SharedEtcd or EtcdMembers.
	APIServers int
	// Spread lets the aggregator spread requests over all API servers that are ready, as in a cluster: they listen on an
	// address of this machine instead of loopback, and EndpointSlices follow their readiness until the plane is stopped.
	Spread bool
	// Managers is how many of Groundskeeper's controller managers to start; they need an API server.
	Managers int
	// SharedEtcd stores Groundskeeper's objects in the plane's etcd, as in production, instead of in an etcd inside the API server.
	SharedEtcd bool
	// EtcdMembers is how many members an etcd has that is the Groundskeeper API servers' own. 0: they have none.
	EtcdMembers int

	// SelfManagedCertificates lets the Groundskeeper API servers make their certificates themselves; the plane's CA signs none for
	// them. Clients that reach them directly (Plane.DirectConfig) do not know the CA.
	SelfManagedCertificates bool
	// Webhooks registers the webhooks of artifacts/webhooks. They lead to the first controller manager.
	Webhooks bool
	// ProjectWebhook makes the first Groundskeeper API server an authorization webhook of kube-apiserver. artifacts/membership/webhook
	// has the permission for it.
	ProjectWebhook bool
	// MidoNet starts a fake of MidoNet's API and leads the controller managers to it (Plane.MidoNetURL).
	MidoNet bool
	// OVN starts OVN's own servers and two nodes, and leads the controller managers to it. The environment names where OVN is unpacked
	// (ovnserver.RootVariable). With root, Pods of the nodes send packets.
	OVN bool

	// Address is what kube-apiserver listens on; empty: loopback, or the host's end of the link to the node.
	Address string
	// Node adds a node that runs pods: kubelet, containerd and kube-proxy in dedicated namespaces, kube-scheduler, and the
	// controllers that pods need. Images have to be imported, and names are not resolved. It takes root and packages.
	Node bool
	// Images are archives of images for the node. The one of hack/images/pause must be among them.
	Images []string
	// DiscovererImage is the image of discoverers; it applies artifacts/discovery and configures the controller managers.
	DiscovererImage string

	// KubeControllers are controllers of kube-controller-manager to run besides those that every plane has.
	KubeControllers []string
	// Flags to add to a process. They come last, so that they win over the plane's own.
	KubeAPIServerFlags         []string
	KubeControllerManagerFlags []string
	APIServerFlags             []string
	ManagerFlags               []string
	// ManagerConfig is the file of the controller managers' configuration; empty: all defaults.
	ManagerConfig string

	// Detached lets the processes outlive this one, and a failed start leaves those that run unchanged. Otherwise they end with
	// this process, however it ends, and a failed start ends them.
	Detached bool
	// PlainEtcd lets etcd serve without TLS every client that reaches its port: for measurements, of which TLS between etcd and the
	// API servers would be a tenth.
	PlainEtcd bool
	// UnsafeNoFsync lets etcd lose data when the machine crashes: for planes that are thrown away.
	UnsafeNoFsync bool
	// GOGC is how much memory, in percent of what is in use, every process of the plane allocates until it collects garbage; 0: what
	// its command sets, or the environment. Planes of tests are short-lived and many: memory is cheaper there than CPU time.
	GOGC int
	// ShippedGOGC excepts Groundskeeper's processes from GOGC: they collect garbage as they do in production.
	ShippedGOGC bool
	// FIPS makes Groundskeeper's processes panic when they use an algorithm that FIPS 140-3 does not approve.
	FIPS bool
	// Progress receives progress messages, line by line; nil: none.
	Progress func(line string)

	spreadAddress string
}

// complete checks the options and fills in what is empty.
func (o Options) complete() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("a plane needs a directory (Options.Dir)")
	}
	if o.APIServers > 1 && !o.SharedEtcd && o.EtcdMembers == 0 {
		return o, errors.New("several API servers need one etcd (Options.SharedEtcd, Options.EtcdMembers)")
	}
	if o.SharedEtcd && o.EtcdMembers > 0 {
		return o, errors.New("the API servers have one etcd: that of the plane (Options.SharedEtcd) or their own (Options.EtcdMembers)")
	}
	if o.Spread && o.Detached {
		return o, errors.New("what spreads requests over API servers ends with this process (Options.Spread, Options.Detached)")
	}
	if o.Managers > 0 && o.APIServers == 0 {
		return o, errors.New("a controller manager needs an API server (Options.APIServers)")
	}
	if o.Webhooks && o.Managers == 0 {
		return o, errors.New("webhooks need a controller manager (Options.Managers)")
	}
	if o.ProjectWebhook && (o.Node || o.APIServers == 0 || o.SelfManagedCertificates) {
		return o, errors.New("an authorization webhook needs an API server with a certificate of the plane's CA, and no node (Options.ProjectWebhook)")
	}
	if o.Node && o.Address != "" {
		return o, errors.New("a plane with a node has the address of its link (Options.Address)")
	}
	if o.OVN && (o.MidoNet || o.Node) {
		return o, errors.New("OVN is the only backend, and has its own nodes (Options.OVN, Options.MidoNet, Options.Node)")
	}
	if o.DiscovererImage != "" && o.Managers == 0 {
		return o, errors.New("discoverers need a controller manager (Options.Managers)")
	}
	if o.Address == "" {
		o.Address = loopback
	}
	if o.Spread {
		addresses, err := net.InterfaceAddrs()
		if err != nil {
			return o, err
		}
		if o.spreadAddress, err = spreadAddress(addresses); err != nil {
			return o, err
		}
	}
	for option, fallback := range map[*string]string{&o.BinDir: "_output/bin", &o.Artifacts: "artifacts"} {
		if *option != "" {
			continue
		}
		root, err := repository()
		if err != nil {
			return o, err
		}
		*option = filepath.Join(root, fallback)
	}
	for _, path := range []*string{&o.Dir, &o.BinDir, &o.Artifacts, &o.ManagerConfig} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path) // the processes have another working directory
		if err != nil {
			return o, err
		}
		*path = absolute
	}
	o.Images = slices.Clone(o.Images)
	for i, path := range o.Images {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return o, err
		}
		o.Images[i] = absolute
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.ManagerConfig != "" {
		if _, err := os.Stat(o.ManagerConfig); err != nil {
			return o, fmt.Errorf("configuration of the controller manager: %w", err)
		}
	}
	if o.OVN {
		if err := o.checkOVN(); err != nil {
			return o, err
		}
	}
	if o.Node {
		if err := o.checkNode(); err != nil {
			return o, err
		}
	}
	return o, o.checkBinaries()
}

// repository returns the root of the repository that the working directory lies in.
func repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "artifacts", "namespaces"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s lies in no clone of the repository: name BinDir and Artifacts", start)
		}
	}
}
