resource "google_firestore_database" "this" {
  for_each = local.databases

  name        = each.value
  location_id = var.region
  type        = "FIRESTORE_NATIVE"

  # The adapter takes no locks and commits with preconditions.
  concurrency_mode                  = "OPTIMISTIC"
  point_in_time_recovery_enablement = "POINT_IN_TIME_RECOVERY_ENABLED"
  delete_protection_state           = var.deletion_protection ? "DELETE_PROTECTION_ENABLED" : "DELETE_PROTECTION_DISABLED"
  deletion_policy                   = var.deletion_protection ? "ABANDON" : "DELETE"

  depends_on = [google_project_service.this]
}

resource "google_firestore_backup_schedule" "daily" {
  for_each = google_firestore_database.this

  database  = each.value.name
  retention = "${var.backup_retention_days * 86400}s"

  daily_recurrence {}
}

resource "google_firestore_index" "this" {
  for_each = local.indexes

  database    = google_firestore_database.this[each.value.service].name
  collection  = each.value.collectionGroup
  query_scope = each.value.queryScope

  dynamic "fields" {
    for_each = each.value.fields

    content {
      field_path = fields.value.fieldPath
      order      = fields.value.order
    }
  }
}

# By default Firestore indexes every field: the records' bodies would cost more than all other fields.
resource "google_firestore_field" "this" {
  for_each = local.fields

  database   = google_firestore_database.this[each.value.service].name
  collection = each.value.collection
  field      = each.value.path

  index_config {
    dynamic "indexes" {
      for_each = each.value.indexes

      content {
        order       = indexes.value.order
        query_scope = indexes.value.queryScope
      }
    }
  }

  dynamic "ttl_config" {
    for_each = each.value.expires ? [true] : []

    content {}
  }
}
