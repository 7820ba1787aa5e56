// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"
)

func kubeletFlags(s settings) []string {
	return []string{
		"--config=" + filepath.Join(s.config, "kubelet.yaml"),
		"--kubeconfig=" + filepath.Join(s.kubeconfigs, "kubelet.kubeconfig"),
		"--hostname-override=" + s.name,
		"--node-ip=" + s.node.Addr().String(),
	}
}

// proxyFlags leave the limits of connection tracking unchanged: the host owns them.
func proxyFlags(s settings) []string {
	return []string{
		"--kubeconfig=" + filepath.Join(s.kubeconfigs, "kube-proxy.kubeconfig"),
		"--hostname-override=" + s.name,
		"--proxy-mode=iptables",
		"--cluster-cidr=" + s.pods,
		"--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0",
	}
}

// health responds whether the node does its work: first containerd with its images, then kubelet.
type health struct{ hasImages, hasKubelet atomic.Bool }

func (h *health) imported() { h.hasImages.Store(true) }
func (h *health) started()  { h.hasKubelet.Store(true) }

func serveHealth(address string) (*health, error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // it takes no time
	if err != nil {
		return nil, err
	}
	h := &health{}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	go server.Serve(listener) //nolint:errcheck // it ends with the process
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.check(r); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

func (h *health) check(r *http.Request) error {
	if !h.hasImages.Load() {
		return errors.New("containerd has no images yet")
	}
	if !h.hasKubelet.Load() {
		return nil // kube-apiserver is started after Groundskeeper
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://127.0.0.1:10248/healthz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it is not read
	if response.StatusCode != http.StatusOK {
		return errors.New("kubelet responds " + response.Status)
	}
	return nil
}
