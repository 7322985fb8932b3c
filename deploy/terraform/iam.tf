# An account for each service. Further rights are beside their resources: pubsub.tf, storage.tf, secrets.tf.

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
  # Services identify each other by these accounts, which Google's tokens name.
  accounts = { for service in local.services : service => google_service_account.service[service].email }

  # For the collector beside each service, and for spans. Spans name the billed project, which needs the right to use its
  # services.
  reporting_roles = [
    "roles/logging.logWriter",
    "roles/monitoring.metricWriter",
    "roles/serviceusage.serviceUsageConsumer",
    "roles/telemetry.tracesWriter",
  ]
}

resource "google_project_iam_member" "telling" {
  for_each = { for pair in setproduct(local.services, local.reporting_roles) : join(" ", pair) => pair }

  project = var.project_id
  role    = each.value[1]
  member  = google_service_account.service[each.value[0]].member
}

# A Firestore database has no IAM policy: a condition in the project's policy limits each service to its database.
resource "google_project_iam_member" "records" {
  for_each = local.databases

  project = var.project_id
  role    = "roles/datastore.user"
  member  = google_service_account.service[each.key].member

  condition {
    title       = "Only ${each.value}"
    description = "The records of ${each.key}"
    expression  = "resource.name == \"projects/${var.project_id}/databases/${each.value}\""
  }
}
