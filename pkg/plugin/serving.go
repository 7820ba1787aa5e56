// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// lateRenewal is the part of its validity after which a certificate has been renewed if that works: Groundskeeper renews its own after
// two thirds.
const lateRenewal = 0.9

// endpoints checks that each Service of the installation has an endpoint that is ready.
func (c *command) endpoints(ctx context.Context, r *report.Report) {
	services, slices := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	if !c.listParts(ctx, r, "Services", services) ||
		!c.listParts(ctx, r, "EndpointSlices", slices, client.HasLabels{discoveryv1.LabelServiceName}) {
		return
	}
	ready := map[string]int{}
	for i := range slices.Items {
		for _, endpoint := range slices.Items[i].Endpoints {
			if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready { // unset means ready
				ready[slices.Items[i].Labels[discoveryv1.LabelServiceName]]++
			}
		}
	}
	for i := range services.Items {
		service := &services.Items[i]
		if len(service.Spec.Selector) == 0 || service.Spec.Type == corev1.ServiceTypeExternalName {
			continue // it leads out of the cluster
		}
		problem := ""
		if ready[service.Name] == 0 {
			problem = "has no endpoint that is ready: its pods are not"
		}
		addCheck(r, report.Checked{Name: "Service " + service.Name}, problem)
	}
}

// certificates checks the certificates of the installation. A CA that does not match is why an APIService is unavailable.
func (c *command) certificates(ctx context.Context, r *report.Report) {
	secrets := &corev1.SecretList{}
	if c.listParts(ctx, r, "Secrets", secrets, client.MatchingFields{"type": string(corev1.SecretTypeTLS)}) {
		for i := range secrets.Items {
			secret := &secrets.Items[i]
			addCheck(r, report.Checked{Name: "Certificate " + secret.Name}, certificateProblem(secret.Data[corev1.TLSCertKey], c.clock.Now()))
		}
	}
}

// certificateProblem returns why a serving certificate, which is the first of a chain, cannot be used or is not renewed; "" if neither.
func certificateProblem(chain []byte, now time.Time) string {
	certificates, err := cert.ParseCertsPEM(chain)
	if err != nil {
		return "has no certificate in tls.crt: docs/certificates.md"
	}
	begin, end := certificates[0].NotBefore, certificates[0].NotAfter
	switch {
	case now.After(end):
		return fmt.Sprintf("expired on %s: see docs/certificates.md, and the log of the server that renews it", end.UTC().Format(time.DateOnly))
	case now.Before(begin):
		return fmt.Sprintf("is not valid before %s: compare the clocks of the nodes", begin.UTC().Format(time.RFC3339))
	case now.Sub(begin).Seconds() > lateRenewal*end.Sub(begin).Seconds():
		return fmt.Sprintf("expires on %s and was not renewed: see docs/certificates.md, and the log of the server that renews it",
			end.UTC().Format(time.DateOnly))
	}
	return ""
}
