// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capitest

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// Delete deletes a Cluster, kills the controller manager in each stage of its Deorbit, and waits until Cluster and Kluster have been
// deleted. It checks that the Machine is there as long as Deorbit needs the cluster, and the router until Deorbit is over. Observe is
// called with the Cluster, as long as it exists. It returns the stages.
func (w *World) Delete(cluster *unstructured.Unstructured, k *kubernikusv1.Kluster, machine string, observe func(*unstructured.Unstructured)) (stages []kubernikusv1.DeorbitStage) {
	w.Helper()
	if err := w.Client.Delete(w.Context(), cluster); err != nil {
		w.Fatal(err)
	}
	m := NewMachine(machine)
	w.Eventually("the deletion of the Cluster", func(ctx context.Context) error {
		now := &kubernikusv1.Kluster{}
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(k), now); client.IgnoreNotFound(err) != nil {
			return err
		}
		stage := kubernikusv1.DeorbitStage("")
		if now.Status.Deorbit != nil {
			stage = now.Status.Deorbit.Stage
		}
		switch err := w.Deleted(ctx, m); {
		case err == nil && stage != "" && stage != kubernikusv1.DeorbitMachines && !slices.Contains(stages, kubernikusv1.DeorbitWait) && !slices.Contains(stages, kubernikusv1.DeorbitMachines):
			w.Errorf("the Machine is deleted in stage %s, and was never retained", stage)
		case err != nil && (stage == kubernikusv1.DeorbitVerify || stage == kubernikusv1.DeorbitRoutes):
			w.Errorf("stage %s begins, and %v", stage, err)
		}
		if slices.Contains(w.Provider.Deletions(), k.RouterID()) && stage != "" && now.HasDeorbiter() {
			w.Errorf("the provider deletes the router in stage %s", stage)
		}
		if stage != "" && !slices.Contains(stages, stage) {
			stages = append(stages, stage)
			if err := w.KillManager(ctx); err != nil {
				return err
			}
		}
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		observe(cluster)
		return fmt.Errorf("the Cluster exists, in stage %s, %+v", stage, now.Status.Deorbit)
	})
	w.Eventually("the deletion of the Kluster", func(ctx context.Context) error { return w.Deleted(ctx, k) })
	return stages
}
