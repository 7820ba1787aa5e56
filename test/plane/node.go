// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	nodeProcessName = "localnode"
	schedulerName   = "kube-scheduler"
	// nodeHealthPort is free: the node has a dedicated network.
	nodeHealthPort = "10240"
)

// NodeName is the name of the Node of a plane that has one.
const NodeName = "local-node"

// nodeControllers are those of kube-controller-manager that pods need.
var nodeControllers = []string{
	"deployment-controller",
	"replicaset-controller",
	"daemonset-controller",
	"job-controller",
	"endpointslice-controller",
	"node-lifecycle-controller",
	"taint-eviction-controller",
	"pod-garbage-collector-controller",
	"root-ca-certificate-publisher-controller",
}

// kubeletClientFlags let kube-apiserver reach kubelet, for logs and the like, and let kubelet in with a node's permissions.
func (p *Plane) kubeletClientFlags() (flags, files []string, err error) {
	const client = "kube-apiserver-kubelet-client"
	c := p.credentials
	if _, err := c.cluster.ensure(c.dir, client, subject{name: client, groups: []string{"system:masters"}}); err != nil {
		return nil, nil, err
	}
	return []string{
		"--authorization-mode=Node,RBAC",
		"--kubelet-client-certificate=" + c.certificate(client), "--kubelet-client-key=" + c.key(client),
		"--kubelet-preferred-address-types=InternalIP",
	}, c.pair(client), nil
}

// nodeCommand returns the node. It comes first: kube-apiserver listens on its end of the link.
func (p *Plane) nodeCommand() (command, error) {
	config, err := p.writeNodeConfig()
	if err != nil {
		return command{}, err
	}
	n := p.state.Network
	health := net.JoinHostPort(n.node().Addr().String(), nodeHealthPort)
	args := []string{
		"--disk=" + p.nodeDisk(),
		"--config=" + p.nodeConfigDir(),
		"--kubeconfigs=" + filepath.Join(p.dir, "kubeconfigs"),
		"--bin=" + p.options.BinDir,
		"--logs=" + logDir(p.dir),

		"--name=" + NodeName,
		"--link=" + n.link(),
		"--host-address=" + n.host().String(),
		"--node-address=" + n.node().String(),
		"--pods=" + n.pods().String(),
		"--server=" + p.kubeAPIServerAddress(),
		"--images=" + strings.Join(p.options.Images, ","),
		"--health-address=" + health,
	}
	programs := []string{p.binary("kubelet"), p.binary("kube-proxy")}
	return command{
		name:    nodeProcessName,
		binary:  p.binary(nodeProcessName),
		args:    args,
		inputs:  append(append(config, programs...), p.options.Images...),
		address: health,
		health:  "http://" + health + "/healthz",
	}, nil
}

func (p *Plane) nodeDisk() string { return filepath.Join(p.dir, "node") }

func (p *Plane) nodeConfigDir() string { return filepath.Join(p.dir, "node-config") }

// schedulerCommand is kube-scheduler.
func (p *Plane) schedulerCommand() (command, error) {
	c := p.credentials
	if _, err := c.cluster.ensure(c.dir, schedulerName, subject{name: schedulerName, server: true}); err != nil {
		return command{}, err
	}
	kubeconfig, err := p.kubeconfig(schedulerName, user{name: "system:kube-scheduler"})
	if err != nil {
		return command{}, err
	}
	args := append(listenFlags(address(p.ports[schedulerName])),
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--tls-cert-file="+c.certificate(schedulerName), "--tls-private-key-file="+c.key(schedulerName),
		"--leader-elect=false",
	)
	return command{
		name:    schedulerName,
		binary:  p.binary(schedulerName),
		args:    args,
		inputs:  append(c.pair(schedulerName), kubeconfig),
		address: address(p.ports[schedulerName]),
		health:  "https://" + address(p.ports[schedulerName]) + "/healthz",
	}, nil
}

// waitNode waits until pods can run on the node.
func (p *Plane) waitNode(ctx context.Context) error {
	began := time.Now()
	client, err := kubernetes.NewForConfig(p.Config())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("gave up after %s", startTimeout))
	defer cancel()
	for {
		node, err := client.CoreV1().Nodes().Get(ctx, NodeName, metav1.GetOptions{})
		if err == nil {
			missing := missingOf(node)
			if missing == "" {
				p.options.Progress(fmt.Sprintf("%-32s Ready (%.1f s)", "Node "+NodeName, time.Since(began).Seconds()))
				return nil
			}
			err = fmt.Errorf("%s", missing)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the Node %s is not ready (%w), see the logs of the node in %s: %w", NodeName, context.Cause(ctx), logDir(p.dir), err)
		case <-time.After(pollInterval):
		}
	}
}

// missingOf returns what pods wait for, "" for nothing.
func missingOf(node *corev1.Node) string {
	missing := "kubelet has not reported yet"
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			missing = c.Message
		} else if c.Type == corev1.NodeReady {
			missing = ""
		}
	}
	for _, taint := range node.Spec.Taints {
		missing = "it has the taint " + taint.Key
	}
	return missing
}
