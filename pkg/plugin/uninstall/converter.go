// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/manager/configfile"
)

// lastConfig is the ConfigMap with the configuration that the controller manager has while it is removed.
const lastConfig = managerName + "-uninstall"

// stopConverter gives the controller manager a configuration without the controllers that make Translations out of what
// is in the cluster: it would write those that are deleted again. The one of before stays where it is: to apply the
// manifests again is the way back.
func (u *Uninstaller) stopConverter(ctx context.Context, m Manager) (string, error) {
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: SystemNamespace, Name: managerName}
	if err := u.Client.Get(ctx, key, deployment); err != nil {
		return "", err
	}
	volume, file, err := mounted(deployment)
	if err != nil {
		return "", err
	}
	config := m.Config.DeepCopy()
	for _, name := range []string{controllerConvert, "translation-annotate"} {
		config.Controllers.Enabled = append(slices.DeleteFunc(config.Controllers.Enabled, func(s string) bool { return s == name }), "-"+name)
	}
	var text bytes.Buffer
	if err := configfile.Print(&text, config); err != nil {
		return "", err
	}
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: lastConfig, Labels: map[string]string{partOf: product}}}
	held.Data = map[string]string{file: text.String()}
	err = u.Client.Create(ctx, held)
	if client.IgnoreAlreadyExists(err) != nil {
		return "", err
	}
	if err != nil {
		if err := u.Client.Update(ctx, held); err != nil {
			return "", err
		}
	}
	before := deployment.DeepCopy()
	volume.ConfigMap.Name = lastConfig
	if err := u.Client.Patch(ctx, deployment, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return "", fmt.Errorf("deployment %s: %w", key, err)
	}
	if err := u.until(ctx, "the controller manager restarts", func(ctx context.Context) (left, error) { return u.rollout(ctx, key) }); err != nil {
		return "", err
	}
	// The new one has to have the Lease.
	restarted, err := u.lookAtManager(ctx, nil)
	if err == nil && restarted.Silent != "" {
		err = errors.New(restarted.Silent)
	}
	return "nobody makes Translations any more", err
}

// rollout is what is left of a rollout, pods of before included that have not ended yet.
func (u *Uninstaller) rollout(ctx context.Context, key client.ObjectKey) (left, error) {
	d := &appsv1.Deployment{}
	if err := u.Client.Get(ctx, key, d); err != nil {
		return left{}, err
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return left{}, err
	}
	pods := &corev1.PodList{}
	if err := u.Client.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return left{}, err
	}
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	s := d.Status
	if s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == want && s.AvailableReplicas == want && len(pods.Items) == int(want) {
		return left{}, nil
	}
	var names []string
	for i := range pods.Items {
		names = append(names, "pod "+pods.Items[i].Name)
	}
	return left{names: append(names, fmt.Sprintf("%d of %d are new", s.AvailableReplicas, want)), why: strings.ToLower(rolloutMessage(s))}, nil
}

func rolloutMessage(s appsv1.DeploymentStatus) string {
	for _, c := range s.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			return c.Message
		}
	}
	return ""
}
