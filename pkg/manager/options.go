// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package manager runs the controllers of Groundskeeper in one process.
package manager

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/spf13/pflag"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/apis/config/validation"
	"groundskeeper.io/groundskeeper/pkg/configfile"
	"groundskeeper.io/groundskeeper/pkg/manager/gardenerconfig"
)

// Options are the flags of groundskeeper-controller-manager: what the process needs to start. Everything else
// is in the configuration file.
type Options struct {
	// ConfigFile is the path of the configuration file. Empty: all defaults.
	ConfigFile string
	// PrintConfig makes Run print the effective configuration instead of running.
	PrintConfig bool
	// Kubeconfig overrides clientConnection.kubeconfig when it is not empty.
	Kubeconfig string
	// HealthAddress overrides server.health when it is not empty: HOST:PORT, HOST may be empty.
	HealthAddress string
	// WebhookAddress overrides the address of server.webhooks when it is not empty: HOST:PORT, HOST may be empty.
	WebhookAddress string
	// WebhookCertFile and WebhookKeyFile override server.webhooks.certificates when they are not empty: mode Files, with
	// these.
	WebhookCertFile, WebhookKeyFile string
	// EtcdCertificates keeps the certificates of the etcd of artifacts/install/high-availability.
	EtcdCertificates bool
	// Verbosity shows log lines up to this verbosity, regardless of log.level. 0: as set by log.level.
	Verbosity int

	// Out receives the printed configuration, Log the log.
	Out, Log io.Writer

	// logsToTerminal reports whether users read the log while it is written.
	logsToTerminal bool

	config *v1alpha1.ControllerManagerConfiguration
	// place puts an error about the configuration where its reader finds it.
	place func(*field.Error) error
	// ignored are the fields of a file of Gardener's that mean nothing to Groundskeeper.
	ignored []string
}

// NewOptions returns options that print to standard output and log to standard error.
func NewOptions() *Options {
	return &Options{Out: os.Stdout, Log: os.Stderr, logsToTerminal: term.IsTerminal(int(os.Stderr.Fd()))}
}

// AddFlags adds the flags of these options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.ConfigFile, "config", o.ConfigFile,
		"configuration `file`, kind ControllerManagerConfiguration of config.groundskeeper.io/v1alpha1, or of Gardener's "+
			"controllermanager.config.gardener.cloud/v1alpha1 (default: none, all settings have their defaults)")
	flags.BoolVar(&o.PrintConfig, "print-config", o.PrintConfig, "print the effective configuration with all defaults and exit")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"kubeconfig `file`, instead of clientConnection.kubeconfig (default: the pod's service account)")
	flags.StringVar(&o.HealthAddress, "health-address", o.HealthAddress,
		"`HOST:PORT` to serve health, /metrics, /statusz and /configz on, instead of server.health")
	flags.StringVar(&o.WebhookAddress, "webhook-address", o.WebhookAddress,
		"`HOST:PORT` to serve the admission webhooks on, instead of that of server.webhooks")
	flags.StringVar(&o.WebhookCertFile, "webhook-cert-file", o.WebhookCertFile,
		"`file` with the certificate of the webhooks, instead of server.webhooks.certificates")
	flags.StringVar(&o.WebhookKeyFile, "webhook-key-file", o.WebhookKeyFile,
		"`file` with the private key of the webhooks, instead of server.webhooks.certificates")
	flags.BoolVar(&o.EtcdCertificates, "etcd-certificates", o.EtcdCertificates,
		"issue and renew the certificates of the etcd of artifacts/install/high-availability, in Secrets of the namespace "+
			systemNamespace)
	flags.IntVarP(&o.Verbosity, "v", "v", o.Verbosity, "log up to this verbosity, at least that of log.level")
}

// Complete reads the configuration file, puts the flags on top and fills in the defaults.
func (o *Options) Complete() error {
	config, err := o.load()
	if err != nil {
		return err
	}
	config.ClientConnection.Kubeconfig = cmp.Or(o.Kubeconfig, config.ClientConnection.Kubeconfig)
	if o.HealthAddress != "" {
		if config.Server.Health, err = parseAddress(o.HealthAddress); err != nil {
			return fmt.Errorf("--health-address: %w", err)
		}
	}
	if o.WebhookAddress != "" {
		if config.Server.Webhooks.AddressConfiguration, err = parseAddress(o.WebhookAddress); err != nil {
			return fmt.Errorf("--webhook-address: %w", err)
		}
	}
	if o.WebhookCertFile != "" || o.WebhookKeyFile != "" {
		config.Server.Webhooks.Certificates = v1alpha1.CertificatesConfiguration{
			Mode: v1alpha1.CertificatesFiles, CertFile: o.WebhookCertFile, KeyFile: o.WebhookKeyFile,
		}
	}
	// The output is meant for a file, so its location must not change it.
	if config.Log.Format == "" && !o.PrintConfig && o.logsToTerminal {
		config.Log.Format = v1alpha1.LogFormatText
	}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	o.config = config
	return nil
}

// Validate reports all errors in the completed options, in one error.
func (o *Options) Validate() error {
	if o.Verbosity < 0 {
		return fmt.Errorf("-v: %d is negative", o.Verbosity)
	}
	var errs configfile.Errors
	for _, err := range validation.ValidateControllerManagerConfiguration(o.config, names(controllers(nil))) {
		errs = append(errs, o.place(err))
	}
	if len(errs) > 0 {
		return fmt.Errorf("%s: %w", cmp.Or(o.ConfigFile, "configuration"), errs)
	}
	return nil
}

// Run prints the configuration, or runs the controllers until ctx is done.
func (o *Options) Run(ctx context.Context) error {
	if o.PrintConfig {
		return configfile.Print(o.Out, o.config)
	}
	logger, level := installLogger(o.Log, o.config.Log, o.Verbosity)
	if len(o.ignored) > 0 {
		logger.Info("Ignoring fields of Gardener's configuration without effect", "file", o.ConfigFile, "fields", o.ignored)
	}
	stop, err := serveDebugging(ctx, logger, o.config.Server.Debugging, level)
	if err != nil {
		return err
	}
	defer stop()
	if o.EtcdCertificates {
		stop, err := keepEtcdCertificates(ctx, logger, o.config.ClientConnection)
		if err != nil {
			return err
		}
		defer stop()
	}
	fence := newFence(o.config.LeaderElection)
	return run(ctx, o.config, logger, fence, controllers(fence))
}

// load reads the configuration file, Groundskeeper's or Gardener's. No file is an empty configuration.
func (o *Options) load() (*v1alpha1.ControllerManagerConfiguration, error) {
	if o.ConfigFile == "" {
		o.place = func(err *field.Error) error { return err }
		config := &v1alpha1.ControllerManagerConfiguration{}
		config.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ControllerManagerConfigurationKind))
		return config, nil
	}
	data, err := os.ReadFile(o.ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	file, err := gardenerconfig.Load(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.ConfigFile, err)
	}
	o.place, o.ignored = file.Place, file.Ignored
	return file.Config, nil
}

// parseAddress takes HOST:PORT apart. Whether both make sense is for the validation.
func parseAddress(address string) (v1alpha1.AddressConfiguration, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return v1alpha1.AddressConfiguration{}, fmt.Errorf("%q is not HOST:PORT", address)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return v1alpha1.AddressConfiguration{}, fmt.Errorf("%q is not HOST:PORT with a numeric port", address)
	}
	return v1alpha1.AddressConfiguration{BindAddress: host, Port: new(int32(port))}, nil
}
