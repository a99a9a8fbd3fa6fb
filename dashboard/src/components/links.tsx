// Links to a job, an execution and a graph run by its id.
import { Link, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'

interface IdLinkProps {
  id: string
  children: ReactNode
  className?: string
  title?: string
  /** The link of a table row, which Enter opens. */
  isRow?: boolean
}

export function JobLink({ id, ...link }: IdLinkProps) {
  return <Link to="/jobs/$jobId" params={{ jobId: id }} {...attributesOf(link)} />
}

export function ExecutionLink({ id, ...link }: IdLinkProps) {
  return <Link to="/executions/$executionId" params={{ executionId: id }} {...attributesOf(link)} />
}

export function GraphRunLink({ id, ...link }: IdLinkProps) {
  return <Link to="/graphs/$graphRunId" params={{ graphRunId: id }} {...attributesOf(link)} />
}

function attributesOf({ isRow, ...link }: Omit<IdLinkProps, 'id'>) {
  return { ...link, ...(isRow === true && { 'data-row-link': true }) }
}

/** Goes to the execution that a reply names. */
export function useOpenExecution(): (reply: { execution_id: string }) => void {
  const navigate = useNavigate()
  return ({ execution_id: executionId }) =>
    void navigate({ to: '/executions/$executionId', params: { executionId } })
}
