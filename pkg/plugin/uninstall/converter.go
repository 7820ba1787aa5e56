// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllerstate"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// lastConfig is the ConfigMap with the configuration that the controller manager has while it is removed.
const lastConfig = ManagerName + "-uninstall"

// stopConverter gives the controller manager a configuration without the controllers that make Translations out of what
// is in the cluster: it would write those that are deleted again. The one of before stays where it is: to apply the
// manifests again is the way back. Where an earlier run gave it and was left, what remains is to wait.
func (u *Uninstaller) stopConverter(ctx context.Context) (string, error) {
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: SystemNamespace, Name: ManagerName}
	if err := u.Client.Get(ctx, key, deployment); err != nil {
		return "", err
	}
	volume, file, err := mounted(deployment)
	if err != nil {
		return "", err
	}
	if volume.ConfigMap.Name != lastConfig {
		if err := u.reconfigure(ctx, deployment, volume, file); err != nil {
			return "", err
		}
	}
	restart := func(ctx context.Context) (left, error) { return u.rollout(ctx, key) }
	if err := u.until(ctx, "the controller manager restarts", restart); err != nil {
		return "", err
	}
	// The new one has to have the Lease.
	restarted, err := InspectManager(ctx, u.Client, nil)
	if err != nil {
		return "", err
	}
	if restarted.Silent != "" {
		return "", errors.New(restarted.Silent)
	}
	return "no controller creates Translations any more", nil
}

// reconfigure has the Deployment mount the configuration without the converters.
func (u *Uninstaller) reconfigure(ctx context.Context, deployment *appsv1.Deployment, volume *corev1.Volume, file string) error {
	text, err := deployedConfig(ctx, u.Client, deployment)
	if err != nil {
		return err
	}
	if text, err = withoutConverters(text); err != nil {
		return fmt.Errorf("configuration of the controller manager: %w", err)
	}
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: lastConfig,
		Labels: map[string]string{partOf: product}}}
	held.Data = map[string]string{file: string(text)}
	err = u.Client.Create(ctx, held)
	if apierrors.IsAlreadyExists(err) {
		err = u.Client.Update(ctx, held)
	}
	if err != nil {
		return err
	}
	before := deployment.DeepCopy()
	volume.ConfigMap.Name = lastConfig
	if err := u.Client.Patch(ctx, deployment, optimistic(before)); err != nil {
		return fmt.Errorf("deployment %s: %w", nameOf(deployment), err)
	}
	return nil
}

// withoutConverters returns a configuration without the controllers that create Translations. Everything else remains unchanged:
// the manager may have another version than this command, and rejects unknown fields.
func withoutConverters(text []byte) ([]byte, error) {
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	if config == nil {
		return nil, errors.New("it is empty")
	}
	controllers, ok := config["controllers"].(map[string]any)
	if !ok {
		controllers = map[string]any{}
	}
	enabled, ok := controllers["enabled"].([]any)
	if !ok {
		enabled = []any{"*"}
	}
	for _, name := range []string{controllerConvert, "translation-annotate"} {
		enabled = slices.DeleteFunc(enabled, func(entry any) bool { return entry == name || entry == "-"+name })
		if slices.Contains(enabled, any("*")) { // there has to be something to take it out of
			enabled = append(enabled, "-"+name)
		}
	}
	if !slices.ContainsFunc(enabled, func(entry any) bool { return !strings.HasPrefix(fmt.Sprint(entry), "-") }) {
		enabled = []any{}
	}
	controllers["enabled"], config["controllers"] = enabled, controllers
	return yaml.Marshal(config)
}

// rollout returns what is left of a rollout, pods of before included that have not ended yet.
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

// Published returns what the leader last published of its controllers in the Lease of the manifests, without a check that it still works.
func Published(ctx context.Context, c client.Client) (Manager, error) {
	lease := &coordinationv1.Lease{}
	err := c.Get(ctx, client.ObjectKey{Namespace: SystemNamespace, Name: ManagerName}, lease)
	if err != nil {
		return Manager{}, client.IgnoreNotFound(err)
	}
	states, err := controllerstate.Of(lease.Annotations)
	return Manager{Controllers: states}, err
}

// leasePause is how long a Lease is observed. A running manager renews its Lease continuously.
const leasePause = 20 * time.Second

// silence returns why no controller manager runs, "" when one does. Two reads show whether a Lease is renewed, because the
// clocks of the manager and of this machine may differ.
func silence(
	ctx context.Context, c client.Client, m Manager, deployment *appsv1.Deployment,
) (silent string, controllers map[string]controllerstate.State, err error) {
	key := client.ObjectKey{Namespace: SystemNamespace, Name: ManagerName}
	if m.Config != nil {
		election := m.Config.LeaderElection
		if !*election.LeaderElect {
			if m.Deployed && deployment.Status.ReadyReplicas == 0 {
				return "Deployment " + ManagerName + " has no pod that is ready", nil, nil
			}
			return "", nil, nil
		}
		key = client.ObjectKey{Namespace: election.ResourceNamespace, Name: election.ResourceName}
	}
	var first *coordinationv1.Lease
	for deadline := time.Now().Add(leasePause); ; {
		lease := &coordinationv1.Lease{}
		err := c.Get(ctx, key, lease)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Sprintf("there is no Lease %s", key), nil, nil
		case err != nil:
			return "", nil, err
		case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "":
		case first == nil:
			first = lease
		case !lease.Spec.RenewTime.Equal(first.Spec.RenewTime):
			controllers, err := controllerstate.Of(lease.Annotations)
			return "", controllers, err
		}
		if time.Now().After(deadline) {
			return fmt.Sprintf("no manager renews Lease %s", key), nil, nil
		}
		if err := kit.Pause(ctx, time.Second); err != nil {
			return "", nil, err
		}
	}
}
