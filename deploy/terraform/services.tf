resource "google_cloud_run_v2_service" "this" {
  for_each = toset(local.services)

  name     = "${var.name}-${each.value}"
  location = var.region

  deletion_protection = var.deletion_protection

  # Open to all callers: the services verify a bearer token on every request except health, metrics and documentation.
  # Google's own check needs its token in the same header, and consumers and agents have none.
  ingress              = "INGRESS_TRAFFIC_ALL"
  invoker_iam_disabled = true

  template {
    service_account       = google_service_account.service[each.value].email
    execution_environment = "EXECUTION_ENVIRONMENT_GEN2"

    # Longer than a stream of events, and long enough for an export or a large file over a slow line.
    timeout                          = "${max(900, local.events_lifetime_s + 60)}s"
    max_instance_request_concurrency = local.sizes[each.value].concurrency

    scaling {
      min_instance_count = local.sizes[each.value].min_instances
      max_instance_count = local.sizes[each.value].max_instances
    }

    containers {
      name  = "service"
      image = var.images[each.value]

      ports {
        container_port = local.port
      }

      resources {
        limits = {
          cpu    = local.sizes[each.value].cpu
          memory = local.sizes[each.value].memory
        }

        # Processor time between requests, which events, timers and leases need.
        cpu_idle          = false
        startup_cpu_boost = true
      }

      # An instance gets requests when store, bus and blobs answer.
      startup_probe {
        http_get {
          path = "/readyz"
          port = local.port
        }
        period_seconds    = 5
        timeout_seconds   = 5
        failure_threshold = 24
      }

      # Only a process that hangs is replaced: a restart does not repair a store that does not answer.
      liveness_probe {
        http_get {
          path = "/healthz"
          port = local.port
        }
        period_seconds    = 10
        timeout_seconds   = 5
        failure_threshold = 6
      }

      dynamic "env" {
        for_each = local.environment[each.value]

        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = local.secret_environment[each.value]

        content {
          name = env.key
          value_source {
            secret_key_ref {
              secret  = env.value.secret
              version = env.value.version
            }
          }
        }
      }

      volume_mounts {
        name       = "signing-key"
        mount_path = local.key_folder
      }

      dynamic "volume_mounts" {
        for_each = { for name, file in local.config_files : name => file if contains(file.services, each.value) }

        content {
          name       = "file-${volume_mounts.key}"
          mount_path = "${local.config_folder}/${volume_mounts.key}"
        }
      }
    }

    # Scrapes /metrics when the service is ready, and at its end.
    containers {
      name       = "collector"
      image      = var.collector_image
      depends_on = ["service"]

      # Cloud Run allows 8 processors and 32 GB for both containers.
      resources {
        limits   = { cpu = "1", memory = "512Mi" }
        cpu_idle = false
      }

      volume_mounts {
        name       = "collector"
        mount_path = "/etc/rungmp"
      }
    }

    # Cloud Run mounts for root: with 0400 the process could not read the key. The container has no other user.
    volumes {
      name = "signing-key"
      secret {
        secret       = google_secret_manager_secret.signing_key.secret_id
        default_mode = 292 # 0444
        items {
          version = google_secret_manager_secret_version.signing_key.version
          path    = local.key_name
          mode    = 292 # 0444
        }
      }
    }

    volumes {
      name = "collector"
      secret {
        secret = google_secret_manager_secret.file["collector"].secret_id
        items {
          version = google_secret_manager_secret_version.file["collector"].version
          path    = "config.yaml"
        }
      }
    }

    dynamic "volumes" {
      for_each = { for name, file in local.config_files : name => file if contains(file.services, each.value) }

      content {
        name = "file-${volumes.key}"
        secret {
          secret = google_secret_manager_secret.file[volumes.key].secret_id
          items {
            version = google_secret_manager_secret_version.file[volumes.key].version
            path    = volumes.value.name
          }
        }
      }
    }
  }

  lifecycle {
    precondition {
      condition = (
        local.sizes[each.value].concurrency
        < tonumber(lookup(local.environment[each.value], "AEX_MAX_CONNECTIONS", local.default_max_connections))
      )
      error_message = "${each.value}: concurrency must be below AEX_MAX_CONNECTIONS, or probes and the collector find no connection."
    }
  }

  # An instance without rights to its records, events or key never becomes ready.
  depends_on = [
    google_firestore_field.this,
    google_firestore_index.this,
    google_project_iam_member.records,
    google_project_iam_member.telling,
    google_pubsub_subscription_iam_member.consumer,
    google_pubsub_topic_iam_member.publisher,
    google_pubsub_topic_iam_member.viewer,
    google_secret_manager_secret_iam_member.file,
    google_secret_manager_secret_iam_member.review_api_key,
    google_secret_manager_secret_iam_member.signing_key,
    google_storage_bucket_iam_member.user,
    google_storage_bucket_iam_member.event_user,
  ]
}

locals {
  # Copies of the services' own defaults; a test compares them.
  default_max_connections   = 1000
  default_events_lifetime_s = 240

  events_lifetime_s = tonumber(
    lookup(local.environment["verification"], "AEX_EVENTS_LIFETIME_S", local.default_events_lifetime_s)
  )
}
