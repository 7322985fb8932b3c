# An account for each service. What it may do beside this is where the thing lies: pubsub.tf, storage.tf, secrets.tf.

data "google_project" "this" {
  project_id = var.project_id
}

resource "google_service_account" "service" {
  for_each = toset(local.services)

  account_id   = "${var.name}-${each.value}"
  display_name = "AEX Outcomes: ${each.value}"

  depends_on = [google_project_service.this]
}

locals {
  # By these the services know each other: Google's tokens name them.
  accounts = { for service in local.services : service => google_service_account.service[service].email }

  # For the collector beside each service, and for spans. These name the project that is billed for them, which nobody
  # may do who may not use its services.
  telling_roles = [
    "roles/logging.logWriter",
    "roles/monitoring.metricWriter",
    "roles/serviceusage.serviceUsageConsumer",
    "roles/telemetry.tracesWriter",
  ]
}

resource "google_project_iam_member" "telling" {
  for_each = { for pair in setproduct(local.services, local.telling_roles) : join(" ", pair) => pair }

  project = var.project_id
  role    = each.value[1]
  member  = google_service_account.service[each.value[0]].member
}

# Firestore has no policies of its own on a database: a condition in the project's keeps each service to its own.
resource "google_project_iam_member" "records" {
  for_each = local.databases

  project = var.project_id
  role    = "roles/datastore.user"
  member  = google_service_account.service[each.key].member

  condition {
    title       = "${each.value} alone"
    description = "The records of ${each.key}"
    expression  = "resource.name == \"projects/${var.project_id}/databases/${each.value}\""
  }
}
