// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"groundskeeper.io/groundskeeper/test/plane"
)

const discoveryNamespace = "gimbal-discovery"

// discover is the kubelet of a discoverer: it runs the container of the Deployment of a backend as a process, with the Secret that its
// volume has and the permissions of its ServiceAccount, as long as the Deployment exists.
func (s *stage) discover(ctx context.Context, backend string) error {
	client, err := kubernetes.NewForConfig(s.management.Config())
	if err != nil {
		return err
	}
	deployments := client.AppsV1().Deployments(discoveryNamespace)
	deployment, err := deployments.Get(ctx, backend+"-discoverer", metav1.GetOptions{})
	if err != nil {
		return err
	}
	pod := &deployment.Spec.Template.Spec
	container := &pod.Containers[0]
	secret, err := client.CoreV1().Secrets(discoveryNamespace).Get(ctx, pod.Volumes[0].Secret.SecretName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	credentials := s.path(deployment.Name)
	if err := os.MkdirAll(credentials, 0o700); err != nil {
		return err
	}
	var inputs []string
	for _, item := range pod.Volumes[0].Secret.Items {
		path := filepath.Join(credentials, item.Path)
		if err := os.WriteFile(path, secret.Data[item.Key], 0o600); err != nil {
			return err
		}
		inputs = append(inputs, path)
	}
	account := s.path(deployment.Name + ".kubeconfig")
	if err := kubeconfig(s.management, account, discoveryNamespace, pod.ServiceAccountName); err != nil {
		return err
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	args := []string{}
	for _, arg := range container.Args {
		args = append(args, strings.ReplaceAll(arg, container.VolumeMounts[0].MountPath, credentials))
	}
	process, err := s.management.Run(ctx, plane.Program{
		Name: deployment.Name, Binary: "groundskeeper-discoverer", Inputs: append(inputs, account), Address: address, Health: "/readyz",
		Args: append(args, "--gimbal-kubecfg-file="+account, "--prometheus-listen-address="+address, "--reconciliation-period=1s"),
	})
	if err != nil {
		return err
	}
	const ready = `{"status":{"observedGeneration":%d,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1}}`
	status := fmt.Sprintf(ready, deployment.Generation)
	if _, err := deployments.Patch(ctx, deployment.Name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		return err
	}
	s.background.Go(func() {
		err := wait.PollUntilContextCancel(ctx, pollInterval, false, func(ctx context.Context) (bool, error) {
			now, err := deployments.Get(ctx, deployment.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err) || err == nil && now.UID != deployment.UID, nil
		})
		if err == nil {
			_ = process.Stop(ctx) // at the latest, it ends with the plane
		}
	})
	return nil
}
