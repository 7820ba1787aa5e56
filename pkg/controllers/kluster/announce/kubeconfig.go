// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

// entryName names the only entries of a kubeconfig that Groundskeeper writes.
const entryName = "kluster"

// kubeconfigOf returns a kubeconfig with embedded credentials for a workload cluster: that of its Secret, or one created from
// Kubernikus' keys. It contains no commands, no files and nothing of OpenStack. The error describes what is wrong with the Secret.
func kubeconfigOf(k *kubernikusv1.Kluster, data map[string][]byte, allowProxy bool) ([]byte, *metav1.Condition) {
	config, err := kluster.Connectable(k, data, allowProxy)
	if err != nil {
		return nil, unusable(k, err)
	}
	if text := data[kluster.KeyKubeconfig]; len(text) > 0 {
		return text, nil
	}
	text, err := rendered(config)
	if err != nil {
		return nil, unusable(k, err)
	}
	return text, nil
}

// rendered returns the same text for the same connection.
func rendered(config *rest.Config) ([]byte, error) {
	text, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: entryName,
		Contexts:       map[string]*clientcmdapi.Context{entryName: {Cluster: entryName, AuthInfo: entryName}},
		Clusters:       map[string]*clientcmdapi.Cluster{entryName: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{entryName: {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
	})
	if err != nil {
		return nil, errors.New("no kubeconfig can be made of it") // the reason could repeat something of the Secret
	}
	return text, nil
}

// unusable returns the condition of a Kluster whose Secret cannot be used. An existing announcement remains unchanged.
func unusable(k *kubernikusv1.Kluster, err error) *metav1.Condition {
	reason, message := kluster.WhyUnusable(k, err)
	return notAnnounced(reason, "%s", message)
}
