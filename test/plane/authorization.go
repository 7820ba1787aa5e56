// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

const (
	// webhookUser is the user that kube-apiserver is to the API server, as in artifacts/membership/webhook/access.yaml.
	webhookUser = "groundskeeper-project-authorization"
	// webhookKubeconfig is the file that artifacts/membership/webhook/authorization-configuration.yaml names.
	webhookKubeconfig = "/etc/kubernetes/groundskeeper-project-authorization.kubeconfig"
	webhookPath       = "/project-authorization"
)

// authorizationFlags returns the flags with which kube-apiserver authorizes requests, and the files that they name.
func (p *Plane) authorizationFlags() (flags, files []string, err error) {
	if !p.options.ProjectWebhook {
		return []string{"--authorization-mode=RBAC"}, nil, nil
	}
	c := p.credentials
	pair, err := c.cluster.ensure(c.dir, webhookUser, subject{name: webhookUser})
	if err != nil {
		return nil, nil, err
	}
	kubeconfig := filepath.Join(p.dir, "kubeconfigs", webhookUser+".kubeconfig")
	if err := writeKubeconfig(kubeconfig, "https://"+p.apiserverAddress(0)+webhookPath, webhookUser, c.cluster.pem, pair); err != nil {
		return nil, nil, err
	}
	template, err := os.ReadFile(filepath.Join(p.options.Artifacts, "membership", "webhook", "authorization-configuration.yaml"))
	if err != nil {
		return nil, nil, err
	}
	if !bytes.Contains(template, []byte(webhookKubeconfig)) {
		return nil, nil, fmt.Errorf("the configuration of the webhook does not name %s", webhookKubeconfig)
	}
	config := filepath.Join(p.dir, "authorization-configuration.yaml")
	if err := writeFile(config, bytes.ReplaceAll(template, []byte(webhookKubeconfig), []byte(kubeconfig))); err != nil {
		return nil, nil, err
	}
	return []string{"--authorization-config=" + config}, []string{kubeconfig, config}, nil
}
